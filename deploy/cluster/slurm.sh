#!/usr/bin/env bash
# A run on several nodes of Slurm: `sbatch deploy/cluster/slurm.sh plan.toml`; submitted again, it resumes the run.
#
# Each node starts Ray under one token, which only this job's user can read; the first node also trains. Nodes need the same environment with
# tacit[cluster] (TACIT_VENV) and the same path to the rows. Ray's traffic is not encrypted: use it on a network that you trust.
#SBATCH --job-name=tacit
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=64G
#SBATCH --time=12:00:00
#SBATCH --requeue
set -euo pipefail

plan=${1:?give the plan: sbatch slurm.sh plan.toml}
venv=${TACIT_VENV:?name the environment that has tacit[cluster]}
runs=${TACIT_RUNS:-runs/slurm-$(basename "$plan" .toml)}
port=${TACIT_RAY_PORT:-6379}

umask 077
token=$(mktemp -p "$HOME" .tacit-ray-XXXXXX)
trap 'rm -f "$token"' EXIT
"$venv/bin/python" -c 'import secrets; print(secrets.token_hex(32), end="")' >"$token"
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=$token RAY_USAGE_STATS_ENABLED=0 OMP_NUM_THREADS=1

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${nodes[0]}
address=$(srun --nodes=1 --ntasks=1 --nodelist="$head" hostname --ip-address | awk '{print $1}'):$port

srun --nodes=1 --ntasks=1 --nodelist="$head" \
  "$venv/bin/ray" start --head --node-ip-address="${address%:*}" --port="$port" \
  --num-cpus="$SLURM_CPUS_PER_TASK" --include-dashboard=false --disable-usage-stats --block &
sleep 20
if ((${#nodes[@]} > 1)); then
  srun --nodes=$((${#nodes[@]} - 1)) --ntasks=$((${#nodes[@]} - 1)) --exclude="$head" \
    "$venv/bin/ray" start --address="$address" --num-cpus="$SLURM_CPUS_PER_TASK" --block &
  sleep 20
fi

# the folder has one run: start it, or resume it after a requeue
mkdir -p "$runs"
begun=$(find "$runs" -mindepth 1 -maxdepth 1 -type d -name '*-1')
if [[ -n $begun ]]; then
  command=(resume "$begun")
else
  command=(run "$plan" --runs "$runs")
fi
srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" "$venv/bin/tacit" "${command[@]}" --cluster "$address"
