"""Evaluates arithmetic from its syntax tree: only what is named here can run, and nothing can grow without end."""

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

MAX_LENGTH = 500
MAX_EXPONENT = 1000
MAX_DIGITS = 1000

OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "cos": math.cos,
    "floor": math.floor,
    "log": math.log,
    "max": max,
    "min": min,
    "round": round,
    "sin": math.sin,
    "sqrt": math.sqrt,
    "tan": math.tan,
}
CONSTANTS = {"e": math.e, "pi": math.pi}


def evaluate(expression: str) -> int | float:
    if len(expression) > MAX_LENGTH:
        raise ValueError(f"The expression is longer than {MAX_LENGTH} characters.")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        value = _value(tree.body)
    except SyntaxError:
        raise ValueError("This is no arithmetic expression. An example: (2 + 3) * sqrt(16)") from None
    except ZeroDivisionError:
        raise ValueError("A division by zero.") from None
    except (OverflowError, TypeError) as exc:
        raise ValueError(f"It cannot be computed: {exc}.") from None
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("The result is not a finite number.")
    return value


def _value(node: ast.AST) -> int | float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return _bounded(node.value)
    if isinstance(node, ast.Name) and node.id in CONSTANTS:
        return CONSTANTS[node.id]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return _power(_value(node.left), _value(node.right))
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return _bounded(OPERATORS[type(node.op)](_value(node.left), _value(node.right)))
    if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
        return _bounded(OPERATORS[type(node.op)](_value(node.operand)))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id not in FUNCTIONS:
            raise ValueError(f"{node.func.id} is not known. Known are: {', '.join(sorted(FUNCTIONS))}.")
        return _bounded(FUNCTIONS[node.func.id](*[_value(arg) for arg in node.args]))
    raise ValueError("Only numbers, + - * / // % **, brackets, pi, e and some functions are known.")


def _power(base: int | float, exponent: int | float) -> int | float:
    if abs(exponent) > MAX_EXPONENT:
        raise ValueError(f"An exponent may be {MAX_EXPONENT} at most.")
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError("The result is not a real number.")
    return _bounded(result)


def _bounded(value: Any) -> int | float:
    if isinstance(value, int) and value.bit_length() > MAX_DIGITS * 3.33:
        raise ValueError(f"A number may have {MAX_DIGITS} digits at most.")
    number: int | float = value
    return number
