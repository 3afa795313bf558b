"""Programs that speak to containers, clusters, clouds, forges and databases."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from remit_governance.policy.shell.effects.program import Program

_COMPOSE_READS = "ps|logs|config|ls|images|top|version|port|events|volumes|stats"
_COMPOSE_RUNS = "build|up|start|restart|pull|create|watch|stop|pause|unpause"

_DOCKER = Program(
    reads=f"""
        ps, images, inspect, logs, version, info, stats, top, port, diff, events, history, help, --version, -v,
        image ls|list|inspect|history, container ls|list|ps|inspect|logs|top|stats|port|diff, network ls|list|inspect,
        volume ls|list|inspect, context ls|list|show|inspect, system df|info|events, compose {_COMPOSE_READS},
        buildx ls|inspect|version|du, plugin ls, node ls|inspect|ps, service ls|inspect|ps|logs, stack
        ls|ps|services""",
    asks="pull, search, manifest inspect, buildx imagetools inspect, image pull, scout",
    changes="tag, start, stop, restart, pause, unpause, rename, wait, container start|stop|restart, compose down, save",
    runs=f"build, buildx build|bake, image build, builder build, compose {_COMPOSE_RUNS}",
    loses="compose down -v|--volumes|--rmi",
    sends="build|buildx --push",
    unknown="--privileged|--ssh|--secret|--allow",
    files="-o --output --iidfile --metadata-file",
)

SERVICES: Mapping[str, Program] = MappingProxyType(
    {
        "ansible-doc": Program(other="reads"),
        "ansible-inventory": Program(reads="--list|--graph|--host"),
        "ansible-playbook": Program(reads="--syntax-check|--list-tasks|--list-hosts|--list-tags|--version"),
        "cdk": Program(runs="synth, synthesize, diff, ls, list, doctor, --version"),
        "docker": _DOCKER,
        "docker-compose": Program(
            reads=f"{_COMPOSE_READS}, --version",
            runs=_COMPOSE_RUNS,
            changes="down",
            loses="down -v|--volumes|--rmi",
        ),
        "duckdb": Program(reads="--version"),
        "gh": Program(
            reads="--version, version, help, alias list, config list|get, extension list",
            asks="""
                issue list|view|status, pr list|view|status|checks|diff, run list|view|watch, repo view|list,
                release list|view, workflow list|view, auth status, status, search, label list, gist list|view,
                cache list, secret list, variable list, ruleset list|view|check, project list|view, org list,
                ssh-key list, gpg-key list, codespace list, api""",
            changes="pr checkout, run download, release download, repo clone, repo set-default",
            unknown="""
                auth status -t|--show-token, api -X|-f|-F|--method|--field|--raw-field|--input, issue|pr|repo
                -w|--web""",
        ),
        "glab": Program(
            asks="issue list|view, mr list|view|diff|checks, ci list|status|view, repo view|list, release list|view",
            reads="--version, version, help",
        ),
        "helm": Program(
            reads="""
                lint, template, show, version, env, repo list, dependency list, dep list, plugin list, help, package""",
            asks="""
                list, ls, status, history, search, repo update, dependency update|build, dep update|build, pull, get
                notes""",
            unknown="--post-renderer",
        ),
        "kind": Program(reads="get, version"),
        "kubectl": Program(
            reads="version, explain, kustomize, config current-context|get-contexts|get-clusters|view, help, options",
            asks="""
                get, describe, logs, top, cluster-info, api-resources, api-versions, auth can-i, auth whoami,
                rollout status|history, diff, events, wait""",
            unknown="config view --raw, config view --flatten, cluster-info dump, --kubeconfig",
        ),
        "kubens": Program(reads="-c"),
        "kubectx": Program(reads="-c"),
        "kustomize": Program(reads="build, version, cfg"),
        "minikube": Program(reads="status, ip, profile list, version, addons list, logs"),
        "mysqladmin": Program(asks="ping, status, version"),
        "packer": Program(reads="validate, inspect, version, --version", changes="fmt", runs="init"),
        "pg_dump": Program(other="changes", files="-f --file"),
        "pg_isready": Program(other="asks"),
        "podman": _DOCKER,
        "podman-compose": Program(reads=_COMPOSE_READS, runs=_COMPOSE_RUNS, changes="down", loses="down -v|--volumes"),
        "pulumi": Program(runs="preview", asks="stack ls, stack output, whoami", reads="version, about, config $"),
        "redis-cli": Program(
            asks="""
                ping, info, get, mget, keys, scan, ttl, pttl, type, exists, dbsize, llen, lrange, hget, hgetall,
                hkeys, hlen,
                smembers, scard, zrange, zcard, zscore, strlen, PING, INFO, GET, MGET, KEYS, SCAN, TTL, TYPE, EXISTS,
                DBSIZE, LLEN, LRANGE, HGET, HGETALL, HKEYS, SMEMBERS, ZRANGE, STRLEN, --version, --stat, --bigkeys""",
            unknown="--eval|--pipe|--rdb|-x|-i|-r",
        ),
        "sam": Program(runs="build, validate, local invoke", reads="--version, list"),
        **dict.fromkeys(
            ("terraform", "tofu"),
            Program(
                reads="""
                    version, validate, show, providers, graph, workspace list|show, state list|show, -version,
                    --version,
                    fmt -check, output, -help, metadata""",
                changes="fmt, workspace select",
                runs="init, plan, get",
                unknown="""
                    init -migrate-state, init -reconfigure, init -plugin-dir, init -from-module, plan
                    -generate-config-out""",
                files="-out",
            ),
        ),
        "terragrunt": Program(reads="--version", runs="plan, init, validate, hclfmt, run-all plan"),
        "vagrant": Program(reads="status, global-status, version, validate, box list, port, --version"),
        "vercel": Program(asks="ls, list, inspect, whoami, logs", reads="--version, help"),
        "wrangler": Program(asks="whoami, tail", reads="--version, docs", runs="types"),
    }
)
"""Program → what it does. What is told to them (SQL, requests) is looked at in `judging`."""
