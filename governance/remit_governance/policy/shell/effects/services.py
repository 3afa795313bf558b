"""Programs that speak to containers, clusters, clouds, forges and databases."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from remit_governance.policy.shell.effects.program_row import Program

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
        "ansible": Program(reads="--version|--list-hosts"),
        "ansible-config": Program(reads="list, dump, view"),
        "ansible-galaxy": Program(reads="list, role list, collection list, --version"),
        "cdk": Program(runs="synth, synthesize, diff, ls, list, doctor, --version"),
        "docker": _DOCKER,
        "docker-compose": Program(
            reads=f"{_COMPOSE_READS}, --version",
            runs=_COMPOSE_RUNS,
            changes="down",
            loses="down -v|--volumes|--rmi",
        ),
        "act": Program(reads="-l|-n|--list|--dryrun|--version"),
        "argocd": Program(
            asks="app list|get|history|diff|manifests|resources, cluster list, repo list, proj list|get, version",
            unknown="--plaintext",
        ),
        "atlas": Program(asks="migrate status", runs="migrate lint|validate, schema inspect|diff", reads="version"),
        "bq": Program(asks="ls, show, head", reads="version, help"),
        "consul": Program(asks="members, catalog, info", reads="version, validate"),
        "crane": Program(asks="ls, digest, manifest, config, validate", reads="version"),
        "dbmate": Program(asks="status", reads="--version"),
        "drizzle-kit": Program(runs="generate, check"),
        "duckdb": Program(reads="--version"),
        "etcdctl": Program(asks="endpoint health|status, member list, version"),
        **dict.fromkeys(
            ("fly", "flyctl"),
            Program(
                asks="""
                    status, logs, releases, apps list, machine|machines list|status, ips list, volumes list,
                    checks list,
                    regions list, platform regions|status, info, config validate""",
                reads="version, --version, help, doctor",
            ),
        ),
        "flux": Program(asks="get, check, logs, tree, events, stats, diff, trace", reads="version, --version, build"),
        "flyway": Program(asks="info, validate", reads="version, -v"),
        "goose": Program(reads="-version"),
        "grpcurl": Program(reads="-version|--version"),
        "gsutil": Program(asks="ls, stat, du", reads="version, help"),
        "heroku": Program(
            asks="""
                apps $, apps:info, ps $, logs, releases $, releases:info, addons $, domains $, status, pg:info,
                regions""",
            reads="--version, version, help, apps --help",
        ),
        "istioctl": Program(asks="analyze, proxy-status, version, validate", reads="version --remote=false"),
        "k9s": Program(reads="version, info"),
        "kafka-topics": Program(asks="--list|--describe"),
        "kafka-topics.sh": Program(asks="--list|--describe"),
        "kafka-consumer-groups": Program(asks="--list|--describe", loses="--delete|--reset-offsets|--delete-offsets"),
        "kcat": Program(asks="-L"),
        "knex": Program(asks="migrate:status, migrate:list", changes="migrate:make", reads="--version"),
        **dict.fromkeys(("kube-linter",), Program(runs="lint", reads="version, checks list, templates list")),
        "liquibase": Program(asks="status, history, validate, diff", reads="--version"),
        "localstack": Program(reads="status, --version, logs", runs="start, stop"),
        "mc": Program(asks="ls, stat, du, tree, --version"),
        "migrate": Program(reads="-version|--version"),
        "netlify": Program(asks="status, sites:list", runs="build, dev", reads="--version"),
        "nomad": Program(
            asks="status, job status, node status, alloc status, server members", reads="version, fmt -check"
        ),
        "opa": Program(runs="test, check, eval, fmt", reads="version, inspect"),
        "conftest": Program(runs="test, verify", reads="--version"),
        "oc": Program(
            asks="get, describe, status, whoami, projects, version, logs, explain, adm top",
            unknown="whoami -t|--show-token, --kubeconfig, get --raw",
        ),
        "railway": Program(asks="status, logs, list, whoami", reads="--version"),
        "rclone": Program(asks="ls, lsl, lsd, lsf, lsjson, size, about, tree", reads="version, listremotes"),
        "s3cmd": Program(asks="ls, info, du", reads="--version"),
        "sequelize": Program(asks="db:migrate:status", reads="--version"),
        "sequelize-cli": Program(asks="db:migrate:status", reads="--version"),
        "skopeo": Program(asks="inspect, list-tags", reads="--version"),
        "sqlx": Program(asks="migrate info", reads="--version"),
        "stern": Program(other="asks", unknown="--kubeconfig"),
        "supabase": Program(
            asks="status, projects list, migration list", runs="start, stop, gen types, db lint|diff", reads="--version"
        ),
        "temporal": Program(asks="workflow list|show|describe, operator cluster health", reads="--version"),
        "vault": Program(asks="status", reads="version, -version"),
        "gh": Program(
            reads="--version, version, help, alias list, config list|get, extension list",
            asks="""
                issue list|view|status, pr list|view|status|checks|diff, run list|view|watch, repo view|list,
                attestation verify,
                release list|view, workflow list|view, auth status, status, search, label list, gist list|view,
                cache list, ruleset list|view|check, project list|view, org list,
                ssh-key list, gpg-key list, codespace list, api""",
            changes="pr checkout, run download, release download, repo clone, repo set-default",
            unknown="""
                auth status -t|--show-token, api -X|-f|-F|--method|--field|--raw-field|--input, issue|pr|repo
                -w|--web""",
        ),
        "glab": Program(
            asks="""
                issue list|view, mr list|view|diff|checks|issues, ci list|status|view|trace|lint,
                repo view|list|search,
                release list|view, auth status, label list, pipeline list|status, job list, schedule list,
                milestone list,
                snippet list, user events""",
            changes="mr checkout, repo clone",
            reads="--version, version, help",
            unknown="auth status -t|--show-token, issue|mr|repo -w|--web",
        ),
        "helm": Program(
            reads="""
                lint, template, show, version, env, repo list, dependency list, dep list, plugin list, help,
                package""",
            asks="""
                list, ls, status, history, search, repo update, dependency update|build, dep update|build, pull,
                get notes|manifest|metadata|hooks, diff upgrade|revision|release|rollback, verify""",
            runs="unittest",
            unknown="--post-renderer",
        ),
        "kind": Program(reads="get clusters|nodes, version"),
        "k3d": Program(reads="cluster list, node list, version"),
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
        "minikube": Program(reads="status, ip, profile list, version, addons list, logs, service list"),
        "mysqladmin": Program(asks="ping, status, version, processlist, extended-status, variables"),
        "packer": Program(reads="validate, inspect, version, --version", changes="fmt", runs="init"),
        "pg_dump": Program(other="changes", files="-f --file"),
        "pg_isready": Program(other="asks"),
        "podman": _DOCKER,
        "podman-compose": Program(reads=_COMPOSE_READS, runs=_COMPOSE_RUNS, changes="down", loses="down -v|--volumes"),
        "pulumi": Program(
            runs="preview",
            asks="stack ls, stack output, stack $, stack history, whoami",
            reads="version, about, config $, plugin ls",
            unknown="--show-secrets",
        ),
        "redis-cli": Program(
            asks="""
                ping, info, get, mget, keys, scan, ttl, pttl, type, exists, dbsize, llen, lrange, hget, hgetall,
                hkeys, hlen,
                smembers, scard, zrange, zcard, zscore, strlen, PING, INFO, GET, MGET, KEYS, SCAN, TTL, TYPE, EXISTS,
                DBSIZE, LLEN, LRANGE, HGET, HGETALL, HKEYS, SMEMBERS, ZRANGE, STRLEN, --version, --stat, --bigkeys,
                --scan,
                memory usage|stats, slowlog get|len, client list, xlen, xrange, xinfo, object encoding, time,
                lastsave""",
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
        "terragrunt": Program(reads="--version, output", runs="plan, init, validate, hclfmt, run-all plan|validate"),
        "vagrant": Program(reads="status, global-status, version, validate, box list, port, --version"),
        "vercel": Program(asks="ls, list, inspect, whoami, logs", reads="--version, help"),
        "wrangler": Program(asks="whoami, tail", reads="--version, docs", runs="types"),
    }
)
"""Program → what it does. What is told to them (SQL, requests) is looked at in `judging`."""
