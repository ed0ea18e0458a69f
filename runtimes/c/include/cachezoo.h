/* libcachezoo: runs the bundles of the cachezoo model zoo inside a cache.
 *
 * A bundle is a model with all that is needed to feed it, to act on its outputs and to check it (docs/bundles.md).
 * Everything that a bundle holds is checked before it is used. After cz_stream_new and cz_cache_new have returned,
 * no call on the stream or the cache allocates memory; cz_save and cz_restore alone do, while they run.
 *
 * A stream is what a model has seen so far. One thread at a time may use a stream or a cache; bundles are read-only
 * and may be shared by threads. Tickets are the caller's own memory: a stream may observe later requests between
 * cz_observe and cz_decide of one, so misses may overlap.
 *
 * Functions that can fail return CZ_OK or an error, and fill a cz_error (which may be NULL) with one line. A NULL where
 * something is needed is CZ_BAD_CALL; functions that return nothing then do nothing, or give zeros.
 */
#ifndef CACHEZOO_H
#define CACHEZOO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CZ_VERSION "1.4.0"
#define CZ_ABI 1
#if defined(__GNUC__)
#define CZ_API __attribute__((visibility("default")))
#else
#define CZ_API
#endif

#define CZ_MAX_FEATURES 64
#define CZ_MAX_OUTPUTS 16
#define CZ_UNKNOWN (-1)

enum cz_result {
    CZ_OK = 0,
    CZ_BAD_BUNDLE = 1, /* the bundle is damaged, forged, or of a PROTOCOL that this library does not know */
    CZ_BAD_CALL = 2,   /* an argument that the function does not take, or a kind that cannot do this */
    CZ_BAD_STATE = 3,  /* a saved state that is damaged, or of another bundle */
    CZ_NO_MEMORY = 4,
    CZ_IO = 5,       /* a file cannot be read or written */
    CZ_DIFFERENT = 6 /* cz_verify: golden rows were not reproduced */
};

typedef struct cz_error {
    int code;
    char text[512]; /* one line, no newline */
} cz_error;

/* CZ_PREFETCH is of models that are no longer run; its number is not given again. */
enum cz_kind { CZ_WORKLOAD = 1, CZ_CACHING, CZ_ADMISSION, CZ_PREFETCH, CZ_REUSE, CZ_STREAMS, CZ_VIRTUAL, CZ_POLICY };
enum cz_precision { CZ_FP32 = 0, CZ_BF16, CZ_INT8 };               /* of LSTMs; forests are computed in float64 */
enum cz_column { CZ_VOLUME = 0, CZ_NAMESPACE, CZ_USER, CZ_FLAGS }; /* texts of a request */
enum cz_op { CZ_READ = 0, CZ_WRITE = 1 };

typedef struct cz_bundle cz_bundle;
typedef struct cz_stream cz_stream;
typedef struct cz_cache cz_cache;
typedef struct cz_logger cz_logger;

CZ_API const char *cz_version(void);

/* ---- bundles ---- */

typedef struct cz_info {
    int protocol;
    int kind;                                      /* enum cz_kind */
    const char *id, *version, *category, *profile; /* category "" for a model of all; valid until cz_close */
    char digest[65], model_digest[65];             /* of the manifest; of what acts */
    int32_t features, outputs;
    int64_t page_bytes, segment_bytes, block_bytes; /* 0 where the kind has none */
    double threshold;                               /* calibration.threshold, NaN where the kind has none */
    const char *prefetch; /* mode that the bundle deploys, "none" where it prefetches nothing */
} cz_info;

/* Read and check a bundle's folder or .zip. Where a key is set, the release beside it must have it, signed: see below. */
CZ_API int cz_open(const char *path, enum cz_precision precision, cz_bundle **bundle, cz_error *error);
/* The same by the public key of a PEM file, Ed25519; NULL: that of CACHEZOO_KEY in the environment, else
 * /etc/cachezoo/key.pub where there is one. release.json and release.sig beside the bundle must be the key's, of a number
 * not below that of KEY.floor, and have this bundle by its name; else it is refused. Since 1.3.0. */
CZ_API int cz_open_signed(const char *path, const char *key_file, enum cz_precision precision, cz_bundle **bundle,
                          cz_error *error);
/* Number of the signed release that has the bundle; 0 where no key is set. Since 1.3.0. */
CZ_API int64_t cz_bundle_release(const cz_bundle *bundle);
/* Free a bundle; its streams, and their caches, must be freed before, or have gone on with another by cz_swap. */
CZ_API void cz_close(cz_bundle *bundle);
CZ_API void cz_bundle_info(const cz_bundle *bundle, cz_info *info);

typedef struct cz_report {
    int64_t rows, cases;      /* golden requests in all, and sets of them */
    double output_difference; /* largest of any output */
    double agreement;         /* share of equal decisions; 1 for exact ones */
} cz_report;

/* A bundle of kind policy without files: a cache composed of classics, by the text that the simulator takes:
 * [admission+]eviction[+prefetch], as in s3fifo or rejectx(x=1)+lirs+next(n=4). Evictions are arc, clock, fifo, inlfu (LFU in
 * the cache), larc, lfu (it keeps counts of pages that left), lirs, lru, s3fifo, sieve, twoq and wtinylfu; admissions
 * acceptall, coinflip and rejectx; prefetches none and next. Make a stream of it, with the cache's capacity and max_keys 0,
 * and cz_cache_new_writes in mode CZ_MODEL. Since 1.4.0. */
CZ_API int cz_policy(const char *text, cz_bundle **bundle, cz_error *error);

/* Recompute every golden set, real and synthetic; CZ_DIFFERENT names the first row that is not reproduced. */
CZ_API int cz_verify(const cz_bundle *bundle, cz_report *report, cz_error *error);

/* ---- placement: kind streams ---- */

/* Stream of a multi-stream SSD, in [0, K), for a write that begins at a byte offset of the volume. A write that spans
 * several chunks of 32 KiB goes to the stream of its first byte's chunk; a chunk that was not learned goes to 0. It reads
 * the bundle alone, so threads may call it at once, and needs no cz_stream: that one is what other kinds remember.
 * Negative where there is no bundle, or one of another kind, or one by lifetime, for which cz_place_pages is there:
 * -CZ_BAD_CALL. Since 1.1.0. */
CZ_API int cz_placement(const cz_bundle *bundle, uint64_t offset);

/* ---- the virtual I/O cache: kind virtual. Since 1.2.0 ----
 *
 * A replacement queue has the ids of pages, no data, in the order of what they are worth; the head is position 0. The cache
 * holds the pages at mapped positions, which are a few runs of fragments. A reference is a hit where its page's position is
 * mapped. `moved` counts pages that are read from the disk besides the missed one: those that move into a run away from
 * the head, and at a quantum's end those that the next mapping finds. A hit far from the head was read before, so look at
 * misses and moved pages together. Memory is taken by *_new alone; a page of the queue costs 52 to 93 bytes with lru,
 * 93 to 125 with lfu and 131 to 235 with arc, a fragment 80. */

#define CZ_MOST_RUNS 16
#define CZ_MOST_APPLICATIONS 1024

enum cz_queue_name { CZ_QUEUE_LRU = 0, CZ_QUEUE_LFU, CZ_QUEUE_ARC };

typedef struct cz_virtual_settings {
    int32_t queue;         /* enum cz_queue_name */
    int32_t fragment;      /* positions that are mapped together, 1 to 65536 */
    int32_t runs;          /* runs at most, 1 to CZ_MOST_RUNS */
    int64_t pages;         /* of the queue; at least the cache's, at most 1 << 26 */
    int64_t quantum;       /* references from one mapping to the next, 1 to 1 << 40 */
    double decay;          /* of values at the end of a quantum, 0 to 1 */
    double cost;           /* hits that a page costs which enters a run away from the head, 0 to 1e6; 0: the paper */
    const double *profile; /* hits a reference of each fragment, 0 to 1, from which the first mapping is made; NULL: the
                            * first mapping is the head. Read by *_new alone. */
} cz_virtual_settings;

typedef struct cz_place {
    int32_t position; /* of the page before it moved, -1 where the queue did not have it */
    int32_t hit;      /* 1 where the page was in the cache */
    int32_t moved;    /* pages read from the disk besides a missed one */
} cz_place;

typedef struct cz_run {
    int64_t low, high; /* positions [low, high) */
} cz_run;

typedef struct cz_virtual cz_virtual;
typedef struct cz_share cz_share;

/* What a bundle says, its profile included, which belongs to the bundle. A bundle that starts cold has none. */
CZ_API int cz_virtual_settings_of(const cz_bundle *bundle, cz_virtual_settings *settings, cz_error *error);

/* A cache of so many pages, at least a fragment for each run. */
CZ_API int cz_virtual_new(const cz_virtual_settings *settings, int64_t capacity, cz_virtual **cache, cz_error *error);
CZ_API void cz_virtual_free(cz_virtual *cache);
/* Serve a page. The key is its address, or whatever else tells pages apart. */
CZ_API int cz_virtual_reference(cz_virtual *cache, uint64_t key, cz_place *place);
/* The runs that are mapped now, the nearest to the head first; returns how many there are. */
CZ_API int cz_virtual_runs(const cz_virtual *cache, cz_run runs[CZ_MOST_RUNS]);

typedef struct cz_share_options {
    int64_t pages; /* of the cache; whole fragments of them are given out */
    int32_t step;  /* fragments that a step moves from one application to another; 0: 1 */
    int32_t reach; /* steps that an application moves at a quantum's end at most, to 4096; 0: 1, as in the paper */
    double fill;   /* hits that each page of a part that grows must save beyond what the other loses, 0 to 1e6; 0: the
                    * paper, which reads it for nothing */
} cz_share_options;

/* One cache for 2 to CZ_MOST_APPLICATIONS applications with a queue each. Fragments are of one size for all. A quantum is
 * as many references of all together as their quanta have; at its end fragments go where they are worth more, and each
 * application maps its own. Each keeps as many fragments as it may have runs, and begins with an equal part. */
CZ_API int cz_share_new(const cz_share_options *options, const cz_virtual_settings *applications, int32_t count,
                        cz_share **share, cz_error *error);
CZ_API void cz_share_free(cz_share *share);
/* Serve a page of an application, from 0. Keys are its own: two applications may have the same. At a quantum's end `moved`
 * counts what all of them map anew. */
CZ_API int cz_share_reference(cz_share *share, int32_t application, uint64_t key, cz_place *place);
CZ_API int64_t cz_share_pages(const cz_share *share, int32_t application); /* it has now; 0 where there is none such */
CZ_API int cz_share_runs(const cz_share *share, int32_t application, cz_run runs[CZ_MOST_RUNS]);

/* Write what a cache or a share remembers to a file, whole or not at all, with a checksum; read it back into one that was
 * made with the same settings, profile excepted. On failure nothing changes. The checksum shows damage, not who wrote the
 * file: restore states only where you trust who wrote them. A forged one is refused or makes wrong decisions. */
CZ_API int cz_virtual_save(const cz_virtual *cache, const char *path, cz_error *error);
CZ_API int cz_virtual_restore(cz_virtual *cache, const char *path, cz_error *error);
CZ_API int cz_share_save(const cz_share *share, const char *path, cz_error *error);
CZ_API int cz_share_restore(cz_share *share, const char *path, cz_error *error);

/* ---- one cache for several tenants, without a model. Since 1.3.0 ----
 *
 * What recommend --only share advises, for a cache daemon: one cache for all, parts of fixed size with a policy of their
 * own, or parts that UCP sizes. Pass every page that a tenant references; the answer names the pages that leave. */

enum cz_tenancy { CZ_TENANTS_SHARED = 0, CZ_TENANTS_FIXED, CZ_TENANTS_UCP };

typedef struct cz_tenant {
    const char *policy; /* of its part: "azor", "lfu", "lirs", "lru", "s3fifo" or "wtinylfu" */
    int64_t pages;      /* of its part */
} cz_tenant;

typedef struct cz_tenants_options {
    int32_t how;           /* enum cz_tenancy */
    int64_t pages;         /* of the cache, at most 1 << 26. Fixed: 0, or what the parts add up to */
    const char *policy;    /* shared: as a part's. UCP: NULL, it has LRU in each part */
    const cz_tenant *each; /* fixed: a part for each; else NULL. Read by cz_tenants_new alone */
    int32_t fragment;      /* UCP: pages that are given out together, 0: 256; at most 1 << 20 of them */
    int64_t window;        /* UCP: references of a tenant, on average, that a split holds for, to 1 << 30; 0: 20000 */
    int64_t remembered; /* others: pages known at once, a part's in proportion to its size: those of the cache, ghosts
                            * and, under LFU, counts. 0: four for each page */
} cz_tenants_options;

typedef struct cz_tenant_page {
    uint64_t key;
    int32_t tenant;
} cz_tenant_page;

typedef struct cz_tenant_access {
    int32_t outcome;               /* 2: a hit; 1: a miss, and the page is in the cache now; 0: a miss, and it is not */
    const cz_tenant_page *victims; /* pages that left; valid until the next call */
    int64_t n_victims;             /* UCP: at a window's end those of all parts that shrink, else at most 1 */
} cz_tenant_access;

typedef struct cz_tenants cz_tenants;

/* A cache for 2 to CZ_MOST_APPLICATIONS tenants. Shared and fixed take 49 to 65 bytes for each page remembered, UCP 60 to
 * 101 for each page of the cache and tenant, and 16 for each fragment and tenant; all when it is made. UCP's window ends
 * after `window` references a tenant, of all together. */
CZ_API int cz_tenants_new(const cz_tenants_options *options, int32_t count, cz_tenants **tenants, cz_error *error);
CZ_API void cz_tenants_free(cz_tenants *tenants);
/* Serve a page of a tenant, from 0. Keys are its own: two tenants may have the same. */
CZ_API int cz_tenants_reference(cz_tenants *tenants, int32_t tenant, uint64_t key, cz_tenant_access *access);
CZ_API int64_t cz_tenants_pages(const cz_tenants *tenants, int32_t tenant); /* it may have now; shared: the cache's */
CZ_API int64_t cz_tenants_resident(const cz_tenants *tenants, int32_t tenant); /* it has now */
/* As cz_share_save and cz_share_restore. */
CZ_API int cz_tenants_save(const cz_tenants *tenants, const char *path, cz_error *error);
CZ_API int cz_tenants_restore(cz_tenants *tenants, const char *path, cz_error *error);

/* ---- streams ---- */

typedef struct cz_stream_options {
    int64_t max_keys; /* segments, blocks or pages remembered, each; the oldest is forgotten; 0: 1 << 20; of kind policy
                        * what it needs: its pages and ghosts, and, where it remembers more (lfu, rejectx, wtinylfu), as
                        * many again as the capacity, at least 1 << 20; of rejectx no more than its window has accesses */
    int32_t max_names; /* names interned in each column; 0: 4096 */
    int64_t capacity;  /* pages of the cache that the model decides for; kinds caching, policy and reuse need it */
} cz_stream_options;

CZ_API int cz_stream_new(const cz_bundle *bundle, const cz_stream_options *options, cz_stream **stream,
                         cz_error *error);
CZ_API void cz_stream_free(cz_stream *stream);

/* Number of a name in a column of this stream, CZ_UNKNOWN where the column is full. Not for the hot path. */
CZ_API int32_t cz_intern(cz_stream *stream, enum cz_column column, const char *text);

typedef struct cz_request {
    int64_t time_us;    /* never falling; only kinds whose features look at the clock read it */
    int64_t offset;     /* bytes, from the volume's start */
    int64_t size;       /* bytes, at least 1 */
    int32_t volume;     /* of cz_intern; at least 0 */
    int32_t name_space; /* of cz_intern or CZ_UNKNOWN: then the volume's name stands for it */
    int32_t user;       /* of cz_intern or CZ_UNKNOWN */
    int32_t flags;      /* of cz_intern or CZ_UNKNOWN */
    uint8_t op;         /* enum cz_op */
} cz_request;

/* What a model sees of one request, before it decides. */
typedef struct cz_ticket {
    uint64_t number; /* of the request, from 0 */
    cz_request request;
    float row[CZ_MAX_FEATURES];    /* model inputs, normalised; workload: none, they are of whole windows */
    double output[CZ_MAX_OUTPUTS]; /* of kinds that run at every request; workload: of the last whole window; caching:
                                    * the fifth is log2(capacity / distinct pages of the recent window) */
    int32_t category;              /* workload: in force for this request, known from earlier windows alone */
} cz_ticket;

/* Pass every request, in order, writes too; afterwards it is part of the history. */
CZ_API int cz_observe(cz_stream *stream, const cz_request *request, cz_ticket *ticket);

/* Of kind streams, in place of cz_observe: pass every write, in order, and streams[i] becomes the stream of the i-th flash
 * page of 8 KiB that it touches; give room for all of them. Bundles by lifetime (policy.type lifetime_placement) place
 * each page by what was written before, so cz_placement fails with them; with a table all pages go where the first byte
 * does. Returns how many pages there are, or -CZ_BAD_CALL. A write whose pages go to several streams is to be sent as
 * several. Since 1.3.0. */
CZ_API int64_t cz_place_pages(cz_stream *stream, const cz_request *request, uint8_t *streams, int64_t room);

typedef struct cz_decision {
    int32_t admit;            /* admission: 1 where a read's miss is admitted; caching: 1 where the queue is not 0 */
    int32_t queue;            /* caching: 0 bypass, 1 soon, 2 mean, 3 late */
    int32_t low, high, fetch; /* 0: of prefetch models, which are no longer run */
    int32_t category;         /* workload: the category in force, CZ_UNKNOWN before the first vote, -2 unknown */
    double output[CZ_MAX_OUTPUTS];
} cz_decision;

/* Of kind admission: keep a write rate, in bytes of segments a second of the requests' times, from the next request on; 0:
 * decide by the bundle's threshold again. The threshold then follows what is written: beginning with the bundle's, it is set
 * anew after every few reads that miss, so that over the bundle's calibration.controller.horizon_s the rate is met wherever
 * enough misses. A stream whose cache is a cz_cache needs no more; whoever has a cache of his own says with cz_wrote, after
 * each read that missed, admitted or not, what its score was (cz_decision.output[0]), how many segments it missed, and how
 * many were written for it, prefetched ones included. cz_swap keeps the balance; cz_save leaves all of it out. CZ_BAD_CALL of
 * another kind, and of bundles without a controller. Since 1.4.0. */
CZ_API int cz_write_rate(cz_stream *stream, double bytes_per_second, cz_error *error);
CZ_API int cz_wrote(cz_stream *stream, int64_t time_us, double score, int64_t missing, int64_t written);

/* Decide on a request: needed for misses only. Reads the ticket and the bundle, changes neither. */
CZ_API int cz_decide(const cz_stream *stream, const cz_ticket *ticket, cz_decision *decision);

/* ---- caches: which units are resident, in which slot ---- */

enum cz_mode { CZ_LRU = 0, CZ_REJECTX, CZ_MODEL };

/* A flash cache evicts by LRU of blocks: a read makes its blocks the newest, and in them what it reads; the oldest segment
 * of the oldest block leaves. A bundle whose policy.touch is not `block` has LRU of segments, as blocks of one segment
 * have. */
typedef struct cz_cache_options {
    enum cz_mode mode;
    int64_t capacity;     /* units: pages, or segments in a flash cache */
    int64_t unit_bytes;   /* CZ_LRU, CZ_REJECTX: of a unit; CZ_MODEL: 0, the bundle's */
    int64_t block_bytes;  /* likewise; a prefetch stays within a block, and a read makes all of it the newest */
    int64_t window;       /* CZ_REJECTX: requests within which a second miss admits, at least 0 */
    int64_t max_misses;   /* CZ_REJECTX: units remembered that missed; the oldest is forgotten; 0: 1 << 20 */
    int64_t max_request;  /* bytes of one request or drop at most; 0: 64 MiB */
    const char *prefetch; /* NULL: the bundle's; else none, all_on_miss, all_on_partial, next(n) */
} cz_cache_options;

/* A unit that enters, leaves or is used. */
typedef struct cz_unit {
    int64_t number; /* of the unit in its volume: byte offset / unit_bytes */
    int32_t volume;
    int32_t slot;    /* in [0, capacity), -1 where it has none */
    uint8_t outcome; /* 0 bypassed, 1 admitted, 2 hit */
    uint8_t dirty;   /* of an evicted unit: must be written to the disk */
    uint8_t prefetched;
} cz_unit;

/* What became of one request; arrays are the cache's own, valid until its next call. Read the slots of hits before
 * you write those of admitted units: one access may give the slot of a hit away. A unit that entered and left in one
 * access has slot -1, and is a victim as well. */
typedef struct cz_access {
    int32_t hits, misses; /* units of the request; in a flash cache those of reads */
    int32_t io_units;     /* flash caches: units of the one I/O to the disk that a read needs, prefetch included */
    int32_t written;      /* units that entered, prefetched ones included */
    int32_t prefetched;   /* these alone */
    int32_t evicted;      /* units evicted for room */
    const cz_unit *units; /* one for each unit of the request, in rising address; then those prefetched */
    int64_t n_units;
    const cz_unit *victims; /* evicted for room, and units that a write or drop made invalid (flash caches) */
    int64_t n_victims;
    cz_decision decision; /* of the model, where it was asked */
    int32_t asked;
} cz_access;

/* streams[0] decides admission, or everything; streams[1] is NULL: it was of a prefetch model, which is no longer run. */
CZ_API int cz_cache_new(const cz_cache_options *options, cz_stream *streams[2], cz_cache **cache, cz_error *error);
/* What a write does. Around: it goes to the disk alone; what the cache held of its pages is void from then on, and named in
 * `victims`, but of kinds policy and reuse it takes up room until it is evicted, as in the simulator; models of kinds caching
 * and reuse do not see such a write. Through and back: it is an access like a read; written back, pages are dirty. Usual:
 * around of a flash cache, which takes no other, and back of a page cache; kind virtual takes back alone. Since 1.4.0. */
enum cz_writes { CZ_WRITES_USUAL = 0, CZ_AROUND, CZ_THROUGH, CZ_BACK };
CZ_API int cz_cache_new_writes(const cz_cache_options *options, enum cz_writes writes, cz_stream *streams[2],
                               cz_cache **cache, cz_error *error);
CZ_API void cz_cache_free(cz_cache *cache);
/* Serve a request: observes it in the cache's streams, decides, and changes what is resident. */
CZ_API int cz_cache_access(cz_cache *cache, const cz_request *request, cz_access *access);
/* Units that hold no longer what the disk does leave, without being counted as requests. It is as a write
 * with CZ_AROUND. Not of kind virtual. */
CZ_API int cz_cache_drop(cz_cache *cache, int32_t volume, int64_t offset, int64_t size, cz_access *access);
/* A cache that goes on with what a device holds: before the first request, a unit in its slot, oldest first. A page
 * cache serves it as a read: of kind policy without asking the admission, of kind caching one for the queue in the middle.
 * CZ_BAD_CALL where the slot or the unit is there, or the unit is not let in, and of kind virtual. */
CZ_API int cz_cache_put(cz_cache *cache, int32_t volume, int64_t number, int32_t slot);

/* Models that take turns in a cache of kind caching, as RC-RNN's configuration manager has it. Said once, before the first
 * request or cz_cache_put. The monitor, a stream of kind workload, then observes each request before the cache serves it, so
 * it knows volumes by the same numbers. Where the category in force has a bundle, that one decides from this request on:
 * the cache's stream goes on with it as after cz_swap, its rules are the cache's, and the resident pages stay. It decides
 * on the last request of each, alone, from a zero state, and the queues are filled anew by that: what it does not want
 * is the next to leave. That takes a step of its network for each such request, within the call. Where there is no
 * category yet, an unknown one, or one without a bundle, who decides goes on. Bundles have a category of the monitor's
 * each, the same inputs, policy.memory and shape of network as the stream's, and outlive the cache. Memory for the last
 * requests is counted by cz_cache_stats. Since 1.4.0. */
CZ_API int cz_cache_follow(cz_cache *cache, cz_stream *monitor, const cz_bundle *const *bundles, int32_t count,
                           cz_error *error);

/* Let a stream of kind workload begin a vote at most once in so many seconds, up to 1 << 20, of its requests' times,
 * in place of what its bundle says: 0 has votes follow on one another, -1 is the bundle's again. A vote that has begun
 * goes on. cz_save keeps it. CZ_BAD_CALL of another number or kind. Since 1.4.0. */
CZ_API int cz_vote_every(cz_stream *stream, int64_t seconds);

typedef struct cz_following {
    int32_t category; /* in force for the last request, CZ_UNKNOWN before the first vote, -2 unknown */
    int32_t decides;  /* category whose model decides; CZ_UNKNOWN: that of the cache's stream, as it began */
    uint64_t takeovers, asked,
        moved; /* models that took over, requests they were asked about, pages that changed queue */
} cz_following;

/* CZ_BAD_CALL where no models take turns. Since 1.4.0. */
CZ_API int cz_cache_following(const cz_cache *cache, cz_following *following);
/* Name of a category of a workload bundle, by its place; NULL past the last, and of other kinds. Since 1.4.0. */
CZ_API const char *cz_category(const cz_bundle *bundle, int32_t place);

/* ---- state, counters, log ---- */

typedef struct cz_counters {
    uint64_t requests, decisions, units, hits, admitted, prefetched, evicted, dirty_evicted, bypassed;
    uint64_t forgotten;   /* keys dropped because max_keys was reached, whose counts had not aged out */
    uint64_t keys, bytes; /* remembered now, by a cache: resident; memory of the stream or cache */
} cz_counters;

CZ_API void cz_stats(const cz_stream *stream, cz_counters *counters);
CZ_API void cz_cache_stats(const cz_cache *cache, cz_counters *counters);

/* Write what a stream remembers to a file, whole or not at all, with a checksum; read it back into a stream of the
 * same model_digest and options. The checksum shows damage, not who wrote the file: restore states only where you trust
 * who wrote them. A forged one is refused or makes wrong decisions. */
CZ_API int cz_save(const cz_stream *stream, const char *path, cz_error *error);
CZ_API int cz_restore(cz_stream *stream, const char *path, cz_error *error);
/* Go on with another bundle of the same kind and inputs, without losing the history. On failure nothing changes. The
 * stream's cache decides by the new bundle from its next request on: with its threshold, and its prefetch mode where
 * cz_cache_options gave none. Where the new bundle lacks one of these, cz_cache_access says CZ_BAD_BUNDLE or
 * CZ_BAD_CALL and changes nothing. */
CZ_API int cz_swap(cz_stream *stream, const cz_bundle *bundle, cz_error *error);

/* Of kind caching: 0 where the bundle has thresholds for caches of several sizes, and this one, against the pages used of
 * late before the last request, is more than half an octave smaller or larger than all of them; those of the nearest size
 * decide then. While a cache fills for the first time it seems large. Else 1, and of other kinds. Since 1.4.0. */
CZ_API int cz_calibrated(const cz_stream *stream);

/* A log of requests as a trace that `cachezoo trace ingest` reads (format csv), with the names that a stream knows. It is
 * a new file. Columns that the first request leaves CZ_UNKNOWN are not in it: a later name in one is CZ_BAD_CALL. A
 * request without a namespace is logged under its volume's name, which stands for it. Lines are written many at once;
 * after a write that failed cz_log returns CZ_IO, and cz_log_close says why. */
CZ_API int cz_log_open(const char *path, cz_stream *names, cz_logger **logger, cz_error *error);
CZ_API int cz_log(cz_logger *logger, const cz_request *request);
CZ_API int cz_log_close(cz_logger *logger, cz_error *error);

#ifdef __cplusplus
}
#endif
#endif
