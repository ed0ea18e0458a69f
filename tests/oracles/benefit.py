"""Naive benefit: Eq. 3 of RC-RNN, counted anew for every page access."""


def naive_counts(ids: list[int], read: list[int], horizon: int) -> tuple[list[int], list[int]]:
    """N_acc and N_reads of each access within itself and the `horizon` accesses after it."""
    n_accesses, n_reads = [], []
    for p, page in enumerate(ids):
        window = [q for q in range(p, min(len(ids), p + horizon + 1)) if ids[q] == page]
        n_accesses.append(len(window))
        n_reads.append(sum(read[q] for q in window))
    return n_accesses, n_reads


def naive_benefit(
    requests: list[list[int]], op: list[int], t_hdd: list[float], t_ssd: list[float], horizon: int | None
) -> list[float]:
    """(T_HDD / T_SSD) (N_acc - 1) (1 / Req_size) (1 + N_reads / N_acc); without a horizon of all uses."""
    ids = [page for request in requests for page in request]
    row = [i for i, request in enumerate(requests) for _ in request]
    read = [1 if op[i] == 0 else 0 for i in row]
    if horizon is None:
        n_accesses = [ids.count(page) for page in ids]
        n_reads = [sum(read[q] for q in range(len(ids)) if ids[q] == page) for page in ids]
    else:
        n_accesses, n_reads = naive_counts(ids, read, horizon)
    return [
        t_hdd[i] / t_ssd[i] * (n - 1) * (1 / len(requests[i])) * (1 + r / n)
        for i, n, r in zip(row, n_accesses, n_reads, strict=True)
    ]
