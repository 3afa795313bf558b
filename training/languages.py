"""Lines that the skills work on, by language: imports, definitions and assignments. Evaluation has its own.

`{a}` to `{c}` are identifiers, `{v}` a value, `{n}` a number.
"""

from __future__ import annotations

from dataclasses import dataclass

Lines = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Language:
    """Line templates of one language; no definitions or imports where it has none that the searches find."""

    assignments: Lines
    definitions: Lines = ()
    imports: Lines = ()


_SCRIPT = Language(
    assignments=("const {a} = {v};", "let {a} = {v};", "export const {a} = {v};", "  {a}: {v},", "  this.{a} = {v};"),
    definitions=(
        "function {a}({b}) {{", "export function {a}({b}, {c}) {{", "class {a} {{", "export class {a} extends {b} {{",
        "interface {a} {{", "export default class {a} {{", "type {a} = {b};", "async function {a}() {{",
        "export interface {a} {{", "enum {a} {{",
    ),
    imports=(
        "import {a} from '{b}';", 'import {{ {a} }} from "./{b}";', "import * as {a} from '{b}';", 'import "{a}";',
        "import {{ {a}, {b} }} from '{c}';", "import type {{ {a} }} from './{b}';",
    ),
)  # fmt: skip

TRAINED: dict[str, Language] = {
    "py": Language(
        assignments=(
            "{a} = {v}", "{a} = {v}", "{a}: int = {v}", "    {a} = {v}", "    {a}: {b} = {v}", "    self.{a} = {v}",
            "{a}: Final = {v}", "    {a} = {v}  # {b}", "{a} = {v}  # {b}",
        ),
        definitions=(
            "def {a}({b}):", "def {a}({b}, {c}={n}):", "def {a}({b}: {c}) -> None:", "class {a}:", "class {a}({b}):",
            "    def {a}(self):", "    def {a}(self, {b}):", "    def {a}(self, {b}: {c}) -> str:", "async def {a}():",
            "    async def {a}(self, *{b}):", "def {a}(*{b}, **{c}):", "    class {a}({b}):", "        def {a}({b}):",
        ),
        imports=(
            "import {a}", "import {a}.{b}", "import {a} as {b}", "from {a} import {b}", "from .{a} import {b}",
            "from {a}.{b} import {c}", "from {a} import {b}, {c}", "from {a} import {b} as {c}",
            "from __future__ import {a}",
        ),
    ),
    "js": _SCRIPT, "ts": _SCRIPT, "tsx": _SCRIPT, "mjs": _SCRIPT,
    "go": Language(
        assignments=("const {a} = {v}", "\tvar {a} = {v}", "\t{a} := {v}", "\t{a} = {v}", "const {a} {b} = {v}"),
        definitions=("func {a}({b} {c}) {{", "type {a} struct {{", "type {a} interface {{", "func {a}() error {{"),
        imports=('import "{a}"', 'import {a} "{b}/{c}"', 'import "{a}/{b}"'),
    ),
    "rs": Language(
        assignments=(
            "const {a}: u32 = {v};", "pub const {a}: {b} = {v};", "    let {a} = {v};", "static {a}: {b} = {v};",
        ),
        definitions=(
            "fn {a}({b}: {c}) {{", "pub fn {a}() -> {b} {{", "struct {a} {{", "pub struct {a} {{", "pub enum {a} {{",
            "trait {a} {{", "    fn {a}(&self) {{", "    pub fn {a}(&mut self, {b}: {c}) {{",
        ),
        imports=("use {a}::{b};", "use {a}::{b}::{c};", "use crate::{a};", "use std::{a};"),
    ),
    "php": Language(
        assignments=("    {a} = {v};", "const {a} = {v};"), definitions=("function {a}({b}) {{", "class {a} {{"),
    ),
    "json": Language(assignments=('  "{a}": {v},', '    "{a}": {v}', '"{a}": {v},')),
    "yaml": Language(assignments=("{a}: {v}", "  {a}: {v}", "    {a}: {v}  # {b}")),
    "yml": Language(assignments=("{a}: {v}", "  {a}: {v}", "  - {a}: {v}")),
    "toml": Language(assignments=("{a} = {v}", "{a} = {v}  # {b}", "  {a} = {v}")),
    "env": Language(assignments=("export {a} = {v}", "{a} = {v}")),
}  # fmt: skip

HELD_OUT: dict[str, Language] = {
    "java": Language(
        assignments=("    static final int {a} = {v};", "    private {b} {a} = {v};", "    {b} {a} = {v};"),
        definitions=("public class {a} {{", "interface {a} {{", "final class {a} extends {b} {{", "public enum {a} {{"),
        imports=("import {a}.{b}.{c};", "import {a}.{b};", "import static {a}.{b}.{c};", "import {a}.*;"),
    ),
    "c": Language(
        assignments=("static const int {a} = {v};", "const {b} {a} = {v};", "    int {a} = {v};"),
        definitions=("struct {a} {{", "typedef struct {a} {{", "enum {a} {{"),
        imports=("#include <{a}.h>", '#include "{a}.h"', '#include "{a}/{b}.h"'),
    ),
    "lua": Language(
        assignments=("local {a} = {v}", "{a} = {v}", "  {a} = {v},", "{b}.{a} = {v}"),
        definitions=("function {a}({b})", "local function {a}({b}, {c})"),
        imports=('local {a} = require("{b}")', "local {a} = require '{b}.{c}'"),
    ),
    "rb": Language(
        assignments=("{a} = {v}", "  {a} = {v}", "  @{a} = {v}"),
        definitions=("def {a}({b})", "  def {a}", "class {a} < {b}", "module {a}"),
        imports=("require '{a}'", 'require "{a}/{b}"', "require_relative '{a}'"),
    ),
    "kt": Language(
        assignments=("const val {a} = {v}", "    val {a} = {v}", "    private var {a}: {b} = {v}"),
        definitions=("class {a}({b}: {c}) {{", "interface {a} {{", "data class {a}({b}: {c})", "enum class {a} {{"),
        imports=("import {a}.{b}", "import {a}.{b}.{c}"),
    ),
    "ini": Language(assignments=("{a} = {v}", "{a} = {v}")),
}  # fmt: skip
