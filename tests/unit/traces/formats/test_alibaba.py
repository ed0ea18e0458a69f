import pytest

from cachezoo.errors import TraceError
from tests.trace_data import read, texts

ROWS = "0,R,126703644672,4096,1577808000000626\n3,W,0,512,1577808000000600\n"


@pytest.mark.parametrize("header", ["", "device_id,opcode,offset,length,timestamp\n"])
def test_rows_with_and_without_a_header(tmp_path, header) -> None:
    path = tmp_path / "io_traces.csv"
    path.write_text(header + ROWS)
    trace = read(path)
    assert trace.meta.source_format == "alibaba"
    assert trace.time_us.tolist() == [0, 26]
    assert trace.op.tolist() == [1, 0]
    assert trace.offset.tolist() == [0, 126703644672]
    assert trace.size.tolist() == [512, 4096]
    assert texts(trace.volume) == ["3", "0"]
    path.write_text(header + ROWS + "0,D,0,4096,1577808000000700\n")
    with pytest.raises(TraceError, match="row 3: op is 'D'"):
        read(path)
