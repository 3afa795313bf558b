"""Names of tools that do one thing to a project: what they do is no more than its own, whatever their words are."""

from __future__ import annotations

RUNNERS = """
    aclocal actionlint ajv alex ameba ansible-lint ant arethetypeswrong astro asyncapi attw autoconf automake
    autopep8 autoreconf ava babel bandit basedpyright bashate behat benchstat biber bibtex biome bison black bloop
    brakeman buf bundle-audit bundler-audit bundlesize c8 cargo-deny cfn-lint check-manifest checkbashisms checkov
    checkstyle clang-check clang-format clang-tidy clj-kondo cljfmt cmake-format cmake-lint cmakelint codecept
    codespell commitlint coverage coverage-badge cppcheck cppclean cpplint craco credo cspell csslint cucumber
    curlylint cython dart_code_metrics datree depcheck depcruise dependency-cruiser deptrac deptry detekt djlint
    dmd docformatter dockle doctest docusaurus dot doxygen dpdm dupl eastwood editorconfig-checker eleventy
    elm-format elm-review elm-test elvis erb_lint erblint erlc errcheck errorprone esbuild eslint eslint_d
    fasterer flake8 flatc flawfinder flay flex flog flow flynt fourmolu fprettify gatsby gcov gcovr genhtml
    gersemi ginkgo gitlint gleam gocognit goconst gocyclo gofmt gofumpt goimports golangci-lint golint
    google-java-format gosec gosimple govulncheck gradualizer graphql-codegen griffe grype hadolint haml-lint
    haml_lint hlint hpack html-validate htmlhint hugo i18n-tasks import-linter include-what-you-use ineffassign
    infection infracost interrogate isort istanbul iwyu jasmine jazzy jdeps jest jscpd jsdoc jshint jsonlint
    jsonnet karma kibit kics knip ktfmt ktlint kube-score kubeconform kubeval lake latexmk lcov lcov_cobertura
    license-checker lint-imports lint-staged linthtml lua-format luacheck lualatex lychee madge markdownlint
    markdownlint-cli2 mdbook mdformat mdl meson microbundle misspell mkdocs mmdc mocha mockgen mypy mypyc nbqa
    nbstripout ncc nimpretty ninja nose2 nox npm-check npm-run-all nyc oasdiff ocamlformat oclint
    openapi-generator-cli ormolu oxlint packwerk palantir-java-format pandoc parallel-lint parcel pdflatex pdoc
    pdoc3 pep8 periphery perlcritic perltidy pest pg_format pgformatter phan php-cs-fixer phpbench phpcbf phpcpd
    phpcs phploc phpmd phpspec phpstan phpunit pip-audit pip-compile pip-sync pipdeptree plantuml playwright pluto
    pmd polaris postcss prettier prettierd proselint prospector protoc protolint prototool psalm publint purs
    py.test pycodestyle pydeps pydocstyle pyflakes pylama pylint pyment pyre pyright pyroma pytest pytype
    pyupgrade radon rbs rdoc react-scripts rector reek refurb regula relay-compiler remark rescript revive
    rolldown rollup rsbuild rspack rspec rubocop ruff rufo rustfmt sass scalafix scalafmt scalastyle selene
    semgrep shellcheck shfmt size-limit slather slim-lint slotscheck snakemake solargraph sonarlint sorbet
    source-map-explorer sourcery spectral sphinx-build spotbugs sqlfluff sqlfmt squawk srb ssort stan standard
    standardrb staticcheck steep stringer stubgen stubtest stylelint stylish-haskell stylua svelte-check
    svelte-kit svgo swag swagger-cli swc swift-format swiftformat swiftlint syft tailwindcss taplo tbls templ
    terraform-docs terrascan tex textlint tflint tfsec thrift tox trivy tsc tsc-watch tsd tslint tsup turbo twigcs
    ty typedoc typos ufmt unbuild unittest usort vacuum vale validate-pyproject verilator vint vite vitest
    vue-cli-service vue-tsc vulture wasm-opt wasm2wat wat2wasm webpack weeder wire write-good xcbeautify xcpretty
    xelatex xenon xo xunit yamale yamlfmt yamllint yapf yard zprint
    """
"""Tools that build, test, check and format."""

COMPILERS = """
    cc c++ gcc g++ clang clang++ rustc javac kotlinc scalac ghc ocamlc ocamlopt nasm yasm as ld lld ranlib gfortran
     mcs csc fsc nvcc emcc em++ tcc icc ifort valac gdc ldc2
    """
"""Compilers and their like."""
