"""Programs that build, test and check a project, and those that manage what it needs.

`runs` is also what installs what the project itself names (a lock file, a list of requirements).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from remit_governance.policy.shell.effects.program_row import Program
from remit_governance.policy.shell.effects.tools import COMPILERS, RUNNERS

_COMPILER = Program(
    reads="--version|-v|-dumpversion|-dumpmachine|-print-search-dirs",
    other="runs",
    files="-o -MF -MJ --output",
    unknown="-wrapper|-fplugin|-specs|--specs|--plugin|-plugin|-load",
)

_TEX = Program(other="runs", unknown="-shell-escape|--shell-escape|-enable-write18|--enable-write18")

_NPM_RAISES = "--script-shell|--node-options|--userconfig|--globalconfig|--registry|--script-prepend-node-path"

_BUILDING: Mapping[str, Program] = {
    "alembic": Program(reads="current, history, heads, branches, show, check, --version", changes="revision"),
    **dict.fromkeys(("pdflatex", "xelatex", "lualatex", "latexmk", "tex", "latex"), _TEX),
    **dict.fromkeys(
        ("bazel", "bazelisk", "buck2", "pants"),
        Program(
            runs="build, test, coverage, run, fetch, mod, check, fmt, lint, dependencies, tailor, sync, vendor",
            reads="""
                query, cquery, aquery, info, version, help, --version, list, peek, uquery, targets, audit, log,
                canonicalize-flags""",
            changes="clean, shutdown",
            unknown="--run_under|--script_path",
        ),
    ),
    **dict.fromkeys(
        ("bundle", "bundler"),
        Program(
            reads="""
                check, list, show, info, outdated, platform, version, --version, -v, env, doctor, licenses, config
                $, config list, viz""",
            runs="install $, $, update, lock, package, cache, clean",
            unknown="--source",
        ),
    ),
    "cabal": Program(
        runs="build, test, run, bench, check, haddock, configure, repl, freeze, outdated, format, new-build",
        reads="--version, list, info, path, list-bin",
        asks="update",
        changes="clean, init, sdist",
    ),
    "cargo": Program(
        reads="""
            tree, metadata, locate-project, pkgid, version, --version, -V, --list, help, read-manifest,
            verify-project,
            install --list, config get, report""",
        asks="search, info, audit, outdated, deny, owner --list",
        changes="clean, new, init, remove, rm, update, generate-lockfile, vendor, fetch, machete, udeps, sort",
        runs="""
            bench, build, b, check, c, clippy, doc, d, rustdoc, fmt, test, t, run, r, rustc, nextest, llvm-cov,
            tarpaulin,
            expand, hack, miri, fix, package, publish --dry-run, insta, criterion, make, xtask, semver-checks,
            bloat, asm, fuzz list|build|run|coverage|check, flamegraph, mutants, careful, zigbuild, ndk, geiger, msrv,
            minimal-versions, public-api, dist plan|build, about, tauri dev|build|info, leptos build|test,
            lambda build,
            sqlx prepare, spellcheck, component build, cyclonedx, deadlinks, rdme, modules, depgraph, license,
            llvm-lines,
            show-asm, upgrade --dry-run, hakari verify, pgrx test""",
        unknown="--config|--registry|--index|--token",
    ),
    "cmake": Program(other="runs", reads="--version, --help, -N", unknown="-E|--install|--open"),
    "composer": Program(
        reads="""
            validate, show, info, outdated, diagnose, check-platform-reqs, licenses, why, depends, why-not,
            prohibits, --version, list, status, audit, fund, about, suggests, browse, config --list""",
        runs="""
            install $, update, dump-autoload, dumpautoload, reinstall, check, bump, normalize, test, tests, lint,
            format,
            cs, cs-fix, cs-check, fix, stan, phpstan, analyse, analyze, psalm, coverage, unit, phpunit, qa, ci, style,
            run|run-script test|tests|lint|format|cs|fix|stan|phpstan|analyse|psalm|coverage|unit|build|ci|qa""",
        changes="remove, clear-cache",
        unknown="--repository",
    ),
    "coverage": Program(
        runs="run -m",
        reads="report, --version, help, debug",
        changes="html, xml, json, lcov, combine, erase, annotate",
        unknown="run --rcfile",
    ),
    "ctest": Program(other="runs", sends="-D|-M|-S|-SP|--dashboard|--script"),
    "cypress": Program(runs="run, verify, open", reads="info, version, --version"),
    "dart": Program(
        runs="""
            analyze, test, format, fix, doc, compile, pub get, pub upgrade, pub downgrade, run build_runner,
            run test|lint|build_runner, pub run build_runner|test""",
        reads="--version, info, help, pub deps, pub outdated",
    ),
    "deno": Program(
        runs="fmt, lint, test, check, bench, doc, cache, task, coverage, vendor, types, install $",
        reads="--version, -V, info, help, outdated",
        unknown="test -A|--allow-all",
    ),
    "dotnet": Program(
        runs="""
            build, test, run, format, restore, publish, pack, watch, msbuild, vstest, tool restore, ef migrations
            list, ef dbcontext list|info, ef migrations has-pending-model-changes|script, clean, csharpier, stryker,
            reportgenerator""",
        reads="""
            --version, --info, --list-sdks, --list-runtimes, list, help, sln list, nuget locals, workload list, tool
            list, list package, list reference, nuget list, dev-certs https --check""",
        changes="new, sln add, sln remove, add reference, remove",
        unknown="--source|-s",
    ),
    "dune": Program(
        runs="build, test, runtest, fmt, exec, check, clean, utop, promote", reads="--version, describe, show"
    ),
    "flutter": Program(
        runs="""
            analyze, test, build, run, format, gen-l10n, pub get, pub upgrade, pub run build_runner, drive, create,
            precache""",
        reads="--version, doctor, devices, help, pub deps, pub outdated, config --list, emulators $",
        changes="clean",
    ),
    "gem": Program(
        reads="""
            list, search, info, environment, env, which, contents, outdated, help, --version, -v, specification,
            dependency, query, check"""
    ),
    "go": Program(
        runs="""
            build, test, vet, fmt, fix, generate, mod tidy, mod download, mod vendor, install, run, tool cover, tool
            vet, tool pprof|trace|test2json, list -m -u, work sync""",
        reads="""
            version, env, doc, list, help, mod verify, mod graph, mod why, mod edit -json, tool $, work edit -json,
            telemetry $, tool nm|objdump|addr2line|dist|buildid|pack""",
        changes="clean, mod init, mod edit, work, env -unset",
        unknown="-exec|-toolexec|-vettool|--exec|--toolexec|--vettool|-overlay|--overlay, env -w|-u, list -export",
        files="-o -coverprofile -cpuprofile -memprofile",
    ),
    "goreleaser": Program(runs="build, check, healthcheck", reads="--version"),
    "hatch": Program(
        runs="build, test, fmt, env create", reads="version $, status, env show, dep show, --version, env find"
    ),
    "java": Program(reads="-version|--version|-help|--help|-XshowSettings"),
    "jekyll": Program(runs="build, serve, doctor, clean, server", reads="--version, help"),
    "julia": Program(reads="--version|-v|--help"),
    "lein": Program(
        runs="test, compile, check, deps, jar, uberjar, run, eastwood, kibit, cljfmt, javac, midje, repl, classpath",
        reads="version, help, pprint",
        changes="clean",
    ),
    "lerna": Program(runs="run, bootstrap, clean, build, test", reads="ls, list, changed, diff, info, --version"),
    "lua": Program(reads="-v $"),
    "luac": Program(runs="-p"),
    "meson": Program(
        runs="setup, compile, test, configure, introspect, dist, wrap, subprojects, format", reads="--version, help"
    ),
    "mill": Program(
        other="unknown",
        runs="__.test, __.compile, _.test, _.compile",
        reads="version, resolve, show, inspect, path, plan",
    ),
    "mix": Program(
        runs="""
            compile, test, format, deps.get, deps.compile, deps.tree, deps, credo, dialyzer, docs, xref, sobelow,
            assets.build,
            assets.setup, coveralls, phx.server, phx.routes, phx.digest, ecto.migrations, gettext.extract, doctor,
            test.watch, sobelow, phx.gen.schema --dry-run, loadpaths, esbuild, tailwind, boundary.spec, hex.audit,
            deps.audit, deps.unlock --check-unused""",
        reads="help, --version, hex.info, hex.outdated, app.tree, profile.fprof",
        changes="clean, new, deps.clean, ecto.gen.migration",
    ),
    "mkdocs": Program(runs="build, serve", changes="new"),
    "next": Program(runs="build, dev, lint, start, info, export, typegen, telemetry"),
    "nuxt": Program(runs="build, dev, generate, prepare, preview, typecheck, analyze, info"),
    "ng": Program(runs="build, test, lint, serve, e2e, generate, g, extract-i18n", reads="version, config $, help"),
    "nim": Program(runs="c, compile, check, cpp, r, doc", reads="--version|-v"),
    "nimble": Program(runs="build, test, check, install $", reads="list, --version, dump, tasks, search"),
    "nix": Program(
        runs="build, flake check, develop, fmt, eval",
        reads="""
            --version, flake show, flake metadata, show-config, path-info, log, why-depends, store ls, derivation
            show""",
    ),
    "npm": Program(
        reads="""
            ls, list, ll, la, outdated, root, prefix, bin, config get, config list, config ls, get, help,
            help-search, why,
            explain, fund, query, pkg get, --version, -v, version $, doctor, diff, run $, run-script $, cache ls,
            $""",
        asks="view, info, show, v, search, ping, whoami, audit, dist-tag ls, access list, owner ls, docs",
        changes="""
            uninstall, remove, rm, un, r, prune, dedupe, ddp, version, shrinkwrap, cache verify, init $,
            unlink""",
        runs="""
            test, t, tst, start, stop, restart, ci, clean-install, ic, install $, i $, install-ci-test, cit,
            install-test $,
            it $, rebuild, update $, up $, pack, publish --dry-run, audit fix, link $, build, audit signatures""",
        unknown=f"""
            {_NPM_RAISES}, install|i|ci|update|link|uninstall|remove|rm -g|--global|--location,
            install|i --unsafe-perm""",
    ),
    "nx": Program(
        runs="""
            build, test, lint, run, run-many, affected, serve, e2e, format, graph, show, report, list, format:check,
            format:write"""
    ),
    "opam": Program(
        reads="list, show, info, search, switch list, switch show, --version, var, env",
        runs="lint, install . --deps-only",
    ),
    "perl": Program(reads="-v $, --version $, -V $", runs="-c|-wc|-cw ? $", unknown="-e|-E|-M|-I|-i|-r"),
    "php": Program(reads="-v|--version|-m|-i|--ini $", runs="-l ? $", unknown="-r|-d|-c|-B|-R|-F|-z|--run|--define"),
    "playwright": Program(runs="test, show-report, codegen, --version, test --list", reads="--version"),
    **dict.fromkeys(
        ("pdm", "rye", "poetry"),
        Program(
            runs="install $, install --no-root, sync, lock, build, check, update $, fmt, lint, test, fix",
            reads="""
                show, version, --version, -V, env info, env list, list, info, search, config --list, export, about,
                toolchain list, env activate, completions""",
            changes="remove, env use, init, version, venv",
            unknown="--source",
        ),
    ),
    "pipenv": Program(
        runs="install $, sync, lock, check, update $, verify, clean, install --dev $",
        reads="graph, --version, --venv, --where, --py, scripts, requirements",
    ),
    **dict.fromkeys(
        ("pnpm", "yarn", "bun"),
        Program(
            reads="""
                ls, list, ll, la, why, outdated, root, bin, --version, -v, -V, help, config list, config get,
                licenses, run $,
                info --json, workspaces list, workspaces info, pm ls, pm bin, store path, versions, check, node -v""",
            asks="view, info, show, npm info, audit, search, npm audit",
            changes="remove, rm, uninstall, un, prune, dedupe, unlink, version, cache clean, autoclean, init",
            runs="""
                test, t, start, install, i, ci, rebuild, build, pack, lint, format, fmt, $, workspaces foreach,
                generate-lock-entry,
                fetch, import, constraints, upgrade $, update $, publish --dry-run""",
            fetches="install|i ?",
            unknown=f"{_NPM_RAISES}, install|i -g|--global",
        ),
    ),
    "pre-commit": Program(
        runs="run, validate-config, validate-manifest, autoupdate",
        reads="--version, help",
        changes="clean, gc, sample-config",
    ),
    "R": Program(reads="--version, CMD config", runs="CMD check, CMD build"),
    "rails": Program(
        runs="""
            test, test:all, test:system, spec, zeitwerk:check, assets:precompile, server, s, generate, g,
            db:migrate:status, db:version, db:schema:dump, spec""",
        reads="routes, about, stats, notes, --version, -v, -T, version, middleware, initializers, help, -h, --tasks",
    ),
    "rebar3": Program(
        runs="compile, eunit, ct, dialyzer, xref, release, lint, proper, fmt, get-deps, deps, edoc, cover, tree, check",
        reads="version, help",
        changes="clean",
    ),
    "ruby": Program(reads="-v|--version $", runs="-c|-wc|-cw ? $", unknown="-e|-r|-I|-n|-p|-i|-x|-S|-C"),
    "rush": Program(runs="build, rebuild, test, install, check, lint", reads="list, --version"),
    "sphinx-build": Program(other="runs", unknown="-D"),
    "stack": Program(
        runs="build, test, bench, haddock, run, setup, check, ghci",
        reads="--version, path, ls, query, list, list-dependencies, dot",
        changes="clean, new, init, purge",
    ),
    "swift": Program(
        runs="build, test, run, lint, package resolve, package update, package plugin, format",
        reads="""
            --version, -version, package describe, package dump-package, package show-dependencies, package
            tools-version""",
        changes="package init, package clean, package reset",
        unknown="--disable-sandbox|--allow-writing-to-directory",
    ),
    "tsx": Program(reads="--version"),
    "twine": Program(reads="check, --version"),
    "uv": Program(
        reads="""
            tree, pip list, pip freeze, pip show, pip check, pip tree, python list, python find, python dir, tool
            list, tool dir, cache dir, version, --version, -V, self version, export, help, auth dir""",
        runs="sync, build, format, pip sync, pip compile, lock",
        changes="venv, remove, init, python pin, cache prune, cache clean, pip uninstall",
        unknown="--index|--index-url|--default-index|--extra-index-url|--find-links|--script|-i|-f",
    ),
    "v": Program(runs="fmt, vet, test, build, ., run .", reads="version, doctor"),
    "xcodebuild": Program(
        other="runs",
        reads="-list|-version|-showsdks|-showBuildSettings|-showdestinations|-checkFirstLaunchStatus|-help",
        unknown="-exportArchive|-allowProvisioningUpdates|-runFirstLaunch|-downloadPlatform, install",
    ),
    "zig": Program(
        runs="build, test, run, fmt, build-exe, build-lib, build-obj, ast-check, cc, c++, translate-c",
        reads="version, env, zen, targets, libc, help",
    ),
    "hyperfine": Program(reads="--version"),
    "helmfile": Program(reads="lint, list, version, template"),
    "firebase": Program(reads="--version, projects:list", runs="emulators:start"),
    "serverless": Program(reads="--version, print", runs="package"),
    "storybook": Program(runs="build, dev"),
    "build-storybook": Program(other="runs"),
    "flask": Program(reads="routes, --version", runs="run"),
    "uvicorn": Program(reads="--version"),
    "sqlc": Program(runs="generate, vet, compile, diff, verify", reads="version"),
    "prisma": Program(runs="generate, validate, format, migrate status, migrate diff", reads="--version, -v, version"),
    "asv": Program(runs="run, check, dev, continuous, preview", reads="show, compare, --version"),
    "elm": Program(runs="make, diff, reactor", reads="--version"),
    "spago": Program(runs="build, test, run, bundle, install $", reads="ls, version, --version"),
    "wasm-pack": Program(runs="build, test", reads="--version"),
    "redocly": Program(runs="lint, bundle, build-docs, preview-docs, stats, join, split", reads="--version"),
    "gotestsum": Program(other="runs", unknown="--post-run-command|--raw-command|--watch-chdir"),
    **dict.fromkeys(
        ("clojure", "clj"),
        Program(
            runs="-M:test|-M:dev|-M:lint|-M:fmt|-M:check|-X:test|-T:build|-M:build|-M:format|-P",
            reads="-Spath|-Stree|-Sdescribe|--version|-Sverbose",
            unknown="-Sdeps|-e|--eval|-Scp",
        ),
    ),
    "conan": Program(
        runs="install ., build ., create ., test",
        reads="--version, profile list|show, list, graph info, inspect, version, search",
    ),
    "fastlane": Program(runs="test, scan, lint, tests", reads="lanes, list, --version, env"),
    "jupyter": Program(
        runs="nbconvert, trust, lab build",
        reads="--version, --paths, kernelspec list, --config-dir, notebook list, lab --version",
    ),
    "ipython": Program(reads="--version"),
    "nuget": Program(runs="restore, pack", reads="list, locals, help, sources list"),
    "pod": Program(
        runs="install, update, lib lint, spec lint, check",
        reads="--version, outdated, env, list, search",
        asks="repo list",
    ),
    "vcpkg": Program(runs="install $", reads="list, search, version, help, depend-info, owns"),
    "symfony": Program(
        runs="check:requirements, server:status, console debug:router|lint:yaml|lint:twig|lint:container"
    ),
    "dvc": Program(
        runs="repro, status, exp run|show|diff",
        reads="dag, list, diff, version, metrics show|diff, params diff, --version",
    ),
    "dbt": Program(
        runs="compile, parse, deps, debug, docs generate, list, ls, test", reads="--version", unknown="--profiles-dir"
    ),
    "changeset": Program(runs="status", reads="--version"),
    "cz": Program(runs="check, bump --dry-run, changelog --dry-run", reads="version, info, example, schema"),
    "semantic-release": Program(runs="--dry-run"),
    "gitleaks": Program(runs="detect, protect, dir, git", reads="version"),
    "ko": Program(reads="version, deps"),
    "skaffold": Program(runs="render, diagnose, build", reads="version, config list, schema list"),
    "tilt": Program(reads="version, doctor, get"),
    "expo": Program(runs="lint, doctor, start, prebuild, config", reads="--version"),
    "react-native": Program(runs="start, doctor, config, info, bundle", reads="--version"),
    "ionic": Program(runs="build, serve, lint", reads="info, --version"),
    "melos": Program(runs="bootstrap, run test|lint|analyze|format|build, list", reads="--version"),
    "fvm": Program(
        runs="flutter test|analyze|build|run|format|pub, dart test|analyze|format", reads="list, --version, doctor"
    ),
    "xmake": Program(runs="build, test, run, f, config", reads="--version, show"),
    "scons": Program(other="runs", unknown="--site-dir"),
    "waf": Program(runs="configure, build, test, check", reads="--version"),
    "premake5": Program(runs="gmake2, gmake", reads="--version"),
    "gprof": Program(other="reads"),
    "valgrind": Program(reads="--version"),
    "bats": Program(other="runs"),
    "cross": Program(runs="build, test, check, clippy, run, bench, doc", changes="clean", unknown="--config"),
    "dlv": Program(runs="test, debug", reads="version"),
    "forge": Program(
        runs="build, test, fmt, coverage, snapshot, doc, lint, geiger",
        reads="--version, tree, config, remappings, inspect",
    ),
    "cast": Program(reads="--version, keccak, sig, abi-encode, 4byte, to-hex, to-dec"),
    "hardhat": Program(runs="test, compile, coverage, check, size-contracts", reads="--version, help"),
    "maturin": Program(runs="develop, build", reads="--version, list-python"),
    "nix-build": Program(runs="$"),
    "scala-cli": Program(runs="test, compile, run, fmt, package", reads="--version, version, about"),
    "tectonic": Program(other="runs", unknown="-Z"),
    "trunk": Program(runs="build, serve, check, fmt", reads="--version"),
    "tuist": Program(runs="generate, build, test, install", reads="version, graph, dump"),
    "typst": Program(runs="compile, c, query", reads="--version, fonts"),
    "quarto": Program(runs="render, preview, check", reads="--version, list"),
    "zola": Program(runs="build, check, serve", reads="--version"),
    "air": Program(reads="-v"),
    "crystal": Program(runs="build, spec, tool format, run, docs", reads="--version, version, env"),
    "shards": Program(runs="install $, build, check", reads="list, version, --version"),
    "elixir": Program(reads="--version|-v $"),
    "sccache": Program(reads="--show-stats|--version|-s"),
    "ccache": Program(reads="-s|--show-stats|--version|-V|-p"),
}

BUILDING: Mapping[str, Program] = MappingProxyType(
    {
        **dict.fromkeys(RUNNERS.split(), Program(other="runs", files="--output-file --outfile")),
        **dict.fromkeys(COMPILERS.split(), _COMPILER),
        **_BUILDING,
    }
)
"""Program → what it does. Names of tasks and of modules are looked at in `judging`."""
