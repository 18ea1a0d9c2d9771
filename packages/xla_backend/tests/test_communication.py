"""The count of collectives in the text of an optimised program; tests that compile programs are in `shards.py`."""

from calque_xla_backend.runtime.communication import Traffic, communication_of


def line(result, kind, arguments="%x), channel_id=1, replica_groups={{0,2},{1,3}}"):
    return f"  %name.1 = {result} {kind}({arguments}"


def test_a_program_without_collectives_has_no_communication():
    assert communication_of("ENTRY main {\n  %x = f32[2]{0} parameter(0)\n  ROOT %y = f32[2]{0} sine(%x)\n}") == {}


def test_collectives_are_counted_by_kind_in_alphabetical_order():
    text = "\n".join(
        [
            line("f32[2,3]{1,0}", "all-reduce"),
            line("f64[]", "all-reduce"),
            line("bf16[8]{0}", "all-gather"),
            line("pred[5]", "collective-permute"),
        ]
    )
    assert communication_of(text) == {
        "all-gather": Traffic(1, 16),
        "all-reduce": Traffic(2, 32),
        "collective-permute": Traffic(1, 5),
    }
    assert list(communication_of(text)) == ["all-gather", "all-reduce", "collective-permute"]


def test_several_arrays_of_one_collective_are_one_operation():
    text = line("(f32[2,4]{1,0}, c128[3]{0}, s4[3]{0})", "all-to-all")
    assert communication_of(text) == {"all-to-all": Traffic(1, 32 + 48 + 2)}


def test_a_reduce_scatter_counts_its_operand():
    groups = ["replica_groups={{0,1},{2,3}}", "replica_groups=[4,2]<=[8]", "replica_groups={{0,1}}"]
    groups += ["replica_groups=mesh['i'=4,'j'=2] {'j'}", "replica_groups=mesh['i'=4,'k'=1] {'i':(2)2,'k'}"]
    for group in groups:
        text = line("f32[1,4]{1,0}", "reduce-scatter", f"%x), channel_id=1, {group}, dimensions={{0}}")
        assert communication_of(text) == {"reduce-scatter": Traffic(1, 32)}


def test_names_of_values_and_metadata_are_no_collectives():
    text = '  %all-reduce.1 = f32[2]{0} get-tuple-element(%all-gather.2), index=0, metadata={op_name="all-reduce(x)"}'
    assert communication_of(text) == {}
    text = '  %x = f32[2]{0} fusion(%all-gather.2), metadata={op_name="jit(f)/a = f32[2] all-reduce(x)"}'
    assert communication_of(text) == {}


def test_an_asynchronous_collective_counts_once_where_it_starts():
    text = "\n".join(
        [
            line("f32[2]{0}", "all-reduce-start"),
            line("f32[2]{0}", "all-reduce-done", "%x)"),
            line("(f32[2]{0}, f32[8]{0})", "all-gather-start"),
            line("f32[8]{0}", "all-gather-done", "%x)"),
            line("(f32[2]{0}, f32[2]{0}, u32[], u32[])", "collective-permute-start"),
            line("f32[2]{0}", "collective-permute-done", "%x)"),
        ]
    )
    assert communication_of(text) == {
        "all-gather": Traffic(1, 32),
        "all-reduce": Traffic(1, 8),
        "collective-permute": Traffic(1, 8),
    }
