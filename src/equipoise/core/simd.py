"""Sixteen floats as one value inside a kernel, so that one pass over the holes of a board serves sixteen reach vectors.

Numba vectorises loops over a row, but not a loop with a dependence between its steps (a running sum). Here the lanes
are independent vectors, and one loop over the row serves all of them. Arrays are read and written sixteen elements at a
time: `load(a, i)` is a[16 * i : 16 * i + 16]. Elements are float32 or float64; plain LLVM vectors run on any processor.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

LANES = 16
_intrinsic: Any = intrinsic  # untyped: an intrinsic is called with other arguments than it is written with


class LanesType(types.Type):
    """The type of sixteen floats."""

    def __init__(self, element: Any) -> None:
        self.element = element
        super().__init__(name=f"lanes({element})")


def _vector(element: Any) -> ir.VectorType:
    return ir.VectorType(ir.DoubleType() if element == types.float64 else ir.FloatType(), LANES)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Any) -> None:
        super().__init__(manager, lanes, _vector(lanes.element))  # type: ignore[no-untyped-call]


def _address(context: Any, builder: Any, array_type: Any, array: Any, index_type: Any, index: Any) -> Any:
    data = cgutils.create_struct_proxy(array_type)(context, builder, array).data  # type: ignore[no-untyped-call]
    wide = context.cast(builder, index, index_type, types.int64)
    place = builder.gep(data, [builder.mul(wide, ir.Constant(ir.IntType(64), LANES))])
    return builder.bitcast(place, _vector(array_type.dtype).as_pointer())


def _alignment(array_type: Any) -> int:
    return 8 if array_type.dtype == types.float64 else 4


def _spread(builder: Any, number: Any, element: Any) -> Any:
    """One number in all lanes."""
    undefined = ir.Constant(_vector(element), ir.Undefined)
    one = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


@_intrinsic
def load(typing_context: Any, array: Any, index: Any) -> Any:
    """Sixteen floats of an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], arguments[0], signature.args[1], arguments[1])
        return builder.load(address, align=_alignment(signature.args[0]))

    return LanesType(array.dtype)(array, index), generate


@_intrinsic
def store(typing_context: Any, array: Any, index: Any, lanes: Any) -> Any:
    """Put sixteen floats into an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], arguments[0], signature.args[1], arguments[1])
        builder.store(arguments[2], address, align=_alignment(signature.args[0]))
        return context.get_dummy_value()

    return types.void(array, index, lanes), generate


@_intrinsic
def add(typing_context: Any, left: Any, right: Any) -> Any:
    """Lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(arguments[0], arguments[1])

    return left(left, right), generate


@_intrinsic
def subtract(typing_context: Any, left: Any, right: Any) -> Any:
    """Lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fsub(arguments[0], arguments[1])

    return left(left, right), generate


@_intrinsic
def multiply(typing_context: Any, left: Any, right: Any) -> Any:
    """Lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fmul(arguments[0], arguments[1])

    return left(left, right), generate


@_intrinsic
def maximum(typing_context: Any, left: Any, right: Any) -> Any:
    """The larger of two, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        larger = builder.fcmp_ordered(">", arguments[0], arguments[1])
        return builder.select(larger, arguments[0], arguments[1])

    return left(left, right), generate


@_intrinsic
def zeros(typing_context: Any, array: Any) -> Any:
    """Sixteen zeros of an array's type."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(_vector(signature.args[0].dtype), [0.0] * LANES)

    return LanesType(array.dtype)(array), generate


@_intrinsic
def add_scaled(typing_context: Any, lanes: Any, factor: Any, more: Any) -> Any:
    """lanes + factor * more, the factor being one number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        element = signature.args[0].element
        spread = _spread(builder, context.cast(builder, arguments[1], signature.args[1], element), element)
        return builder.fadd(arguments[0], builder.fmul(spread, arguments[2], flags=["contract"]), flags=["contract"])

    return lanes(lanes, factor, more), generate


@_intrinsic
def spread(_typing_context: Any, number: Any, lanes: Any) -> Any:
    """One float32 in all lanes of a value like `lanes`."""

    def generate(_context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _spread(builder, arguments[0], signature.args[1].element)

    return lanes(number, lanes), generate


@_intrinsic
def absolute(_typing_context: Any, lanes: Any) -> Any:
    """Lane by lane, the sign dropped."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        vector = arguments[0].type
        name = f"llvm.fabs.v{LANES}{vector.element.intrinsic_name}"
        declared: Any = cgutils.get_or_insert_function(builder.module, ir.FunctionType(vector, [vector]), name)  # type: ignore[no-untyped-call]
        return builder.call(declared, arguments)

    return lanes(lanes), generate


@_intrinsic
def multiply_add(_typing_context: Any, one: Any, two: Any, more: Any) -> Any:
    """one * two + more, lane by lane; in one rounding where the processor can."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        product = builder.fmul(arguments[0], arguments[1], flags=["contract"])
        return builder.fadd(product, arguments[2], flags=["contract"])

    return more(one, two, more), generate


def _folded(builder: Any, lanes: Any, combine: Any) -> Any:
    """One number from sixteen, in four halvings."""
    width = LANES
    while width > 1:
        width //= 2
        places = ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(width)))
        others = ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(width, 2 * width)))
        lanes = combine(builder.shuffle_vector(lanes, lanes, places), builder.shuffle_vector(lanes, lanes, others))
    return builder.extract_element(lanes, ir.Constant(ir.IntType(32), 0))


@_intrinsic
def lane_sum(_typing_context: Any, lanes: LanesType) -> Any:
    """The sum of sixteen lanes, pairwise."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _folded(builder, arguments[0], builder.fadd)

    return lanes.element(lanes), generate


@_intrinsic
def smallest(_typing_context: Any, lanes: LanesType) -> Any:
    """The least of sixteen lanes."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        def lesser(one: Any, two: Any) -> Any:
            return builder.select(builder.fcmp_ordered("<", one, two), one, two)

        return _folded(builder, arguments[0], lesser)

    return lanes.element(lanes), generate


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Sixteen vectors of sixteen, rows turned into columns: four rounds of swapping blocks."""
    for step in (1, 2, 4, 8):
        low = [lane if not lane & step else LANES + lane - step for lane in range(LANES)]
        high = [lane + step if not lane & step else LANES + lane for lane in range(LANES)]
        places = [ir.Constant(ir.VectorType(ir.IntType(32), LANES), picked) for picked in (low, high)]
        for row in range(LANES):
            if not row & step:
                one, two = rows[row], rows[row + step]
                rows[row] = builder.shuffle_vector(one, two, places[0])
                rows[row + step] = builder.shuffle_vector(one, two, places[1])
    return rows


def _element_address(context: Any, builder: Any, array_type: Any, array: Any, place: Any) -> Any:
    data = cgutils.create_struct_proxy(array_type)(context, builder, array).data  # type: ignore[no-untyped-call]
    return builder.bitcast(builder.gep(data, [place]), _vector(array_type.dtype).as_pointer())


def _offset(context: Any, builder: Any, offsets_type: Any, offsets: Any, row: int) -> Any:
    data = cgutils.create_struct_proxy(offsets_type)(context, builder, offsets).data  # type: ignore[no-untyped-call]
    return builder.load(builder.gep(data, [ir.Constant(ir.IntType(64), row)]))


@_intrinsic
def gather_tile(typing_context: Any, flat: Any, offsets: Any, start: Any, lanes: Any) -> Any:
    """lanes[(start + i) * 16 + lane] = flat[offsets[lane] + start + i], for i from 0 to 15. `offsets` is int64[16]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        flat_type, offsets_type, start_type, lanes_type = signature.args
        first = context.cast(builder, arguments[2], start_type, types.int64)
        rows = []
        for row in range(LANES):
            place = builder.add(first, _offset(context, builder, offsets_type, arguments[1], row))
            address = _element_address(context, builder, flat_type, arguments[0], place)
            rows.append(builder.load(address, align=_alignment(flat_type)))
        for i, vector in enumerate(_transposed(builder, rows)):
            place = builder.mul(builder.add(first, ir.Constant(ir.IntType(64), i)), ir.Constant(ir.IntType(64), LANES))
            address = _element_address(context, builder, lanes_type, arguments[3], place)
            builder.store(vector, address, align=_alignment(lanes_type))
        return context.get_dummy_value()

    return types.void(flat, offsets, start, lanes), generate


@_intrinsic
def scatter_tile(typing_context: Any, lanes: Any, start: Any, factors: Any, offsets: Any, flat: Any) -> Any:
    """flat[offsets[lane] + start + i] = factors[lane] * lanes[(start + i) * 16 + lane], for i from 0 to 15."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes_type, start_type, factors_type, offsets_type, flat_type = signature.args
        first = context.cast(builder, arguments[1], start_type, types.int64)
        columns = []
        for i in range(LANES):
            place = builder.mul(builder.add(first, ir.Constant(ir.IntType(64), i)), ir.Constant(ir.IntType(64), LANES))
            address = _element_address(context, builder, lanes_type, arguments[0], place)
            columns.append(builder.load(address, align=_alignment(lanes_type)))
        for row, vector in enumerate(_transposed(builder, columns)):
            factor = _spread(builder, _offset(context, builder, factors_type, arguments[2], row), lanes_type.dtype)
            place = builder.add(first, _offset(context, builder, offsets_type, arguments[3], row))
            address = _element_address(context, builder, flat_type, arguments[4], place)
            builder.store(builder.fmul(factor, vector), address, align=_alignment(flat_type))
        return context.get_dummy_value()

    return types.void(lanes, start, factors, offsets, flat), generate


def _first_lanes(builder: Any, count: Any) -> Any:
    """Which lanes are among the first `count`."""
    index = ir.VectorType(ir.IntType(64), LANES)
    undefined = ir.Constant(index, ir.Undefined)
    one = builder.insert_element(undefined, count, ir.Constant(ir.IntType(32), 0))
    counts = builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))
    return builder.icmp_unsigned("<", ir.Constant(index, list(range(LANES))), counts)


def _masked(builder: Any, name: str, result: Any, arguments: list[Any], vector: Any) -> Any:
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    full = f"llvm.masked.{name}.v{LANES}{vector.element.intrinsic_name}.p0"
    declared: Any = cgutils.get_or_insert_function(builder.module, kind, full)  # type: ignore[no-untyped-call]
    return builder.call(declared, arguments)


@_intrinsic
def load_few(_typing_context: Any, array: Any, start: Any, count: Any) -> Any:
    """The first lanes are array[start : start + count], the others zero; nothing else is read."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type, start_type, count_type = signature.args
        place = context.cast(builder, arguments[1], start_type, types.int64)
        address = _element_address(context, builder, array_type, arguments[0], place)
        mask = _first_lanes(builder, context.cast(builder, arguments[2], count_type, types.int64))
        vector = _vector(array_type.dtype)
        alignment = ir.Constant(ir.IntType(32), _alignment(array_type))
        zero = ir.Constant(vector, [0.0] * LANES)
        return _masked(builder, "load", vector, [address, alignment, mask, zero], vector)

    return LanesType(array.dtype)(array, start, count), generate


@_intrinsic
def store_few(_typing_context: Any, array: Any, start: Any, count: Any, lanes: Any) -> Any:
    """Put the first lanes into array[start : start + count]; nothing else is touched."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type, start_type, count_type, _ = signature.args
        place = context.cast(builder, arguments[1], start_type, types.int64)
        address = _element_address(context, builder, array_type, arguments[0], place)
        mask = _first_lanes(builder, context.cast(builder, arguments[2], count_type, types.int64))
        alignment = ir.Constant(ir.IntType(32), _alignment(array_type))
        _masked(builder, "store", ir.VoidType(), [arguments[3], address, alignment, mask], _vector(array_type.dtype))
        return context.get_dummy_value()

    return types.void(array, start, count, lanes), generate


@_intrinsic
def divide(_typing_context: Any, left: Any, right: Any) -> Any:
    """Lane by lane."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.fdiv(arguments[0], arguments[1])

    return left(left, right), generate


@_intrinsic
def where_positive(_typing_context: Any, test: Any, yes: Any, no: Any) -> Any:
    """Lane by lane: one value where the test is above zero, the other elsewhere."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        zero = ir.Constant(arguments[0].type, [0.0] * LANES)
        return builder.select(builder.fcmp_ordered(">", arguments[0], zero), arguments[1], arguments[2])

    return yes(test, yes, no), generate


# Sixteen yes or no as the bits of one uint16: which lanes a choice is made in.


def _bits(builder: Any, mask: Any) -> Any:
    """A uint16 as sixteen single bits."""
    return builder.bitcast(mask, ir.VectorType(ir.IntType(1), LANES))


@_intrinsic
def where_above(_typing_context: Any, left: Any, right: Any) -> Any:
    """The lanes in which the first is above the second."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.fcmp_ordered(">", arguments[0], arguments[1]), ir.IntType(16))

    return types.uint16(left, right), generate


@_intrinsic
def played(typing_context: Any, lanes: Any, table: Any, place: Any) -> Any:
    """Lanes times sixteen probabilities of a table; a table of uint16 has a bit per lane, one or zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes_type, table_type, place_type = signature.args
        if table_type.dtype != types.uint16:
            address = _address(context, builder, table_type, arguments[1], place_type, arguments[2])
            return builder.fmul(arguments[0], builder.load(address, align=_alignment(table_type)))
        data = cgutils.create_struct_proxy(table_type)(context, builder, arguments[1]).data  # type: ignore[no-untyped-call]
        mask = builder.load(builder.gep(data, [context.cast(builder, arguments[2], place_type, types.int64)]))
        zero = ir.Constant(_vector(lanes_type.element), [0.0] * LANES)
        return builder.select(_bits(builder, mask), arguments[0], zero)

    return lanes(lanes, table, place), generate
