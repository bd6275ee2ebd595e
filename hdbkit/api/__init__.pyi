"""The names of this package for type checkers and editors; ``__init__.py`` imports each when it is first used."""

from hdbkit.analysis.comparison.gate import Gate as Gate
from hdbkit.api.batch import BatchResult as BatchResult
from hdbkit.api.certify import Certificate as Certificate
from hdbkit.api.certify import verify_certificate as verify_certificate
from hdbkit.api.compare import Comparison as Comparison
from hdbkit.api.connection import Connection as Connection
from hdbkit.api.connection import DropResult as DropResult
from hdbkit.api.connection import Maintenance as Maintenance
from hdbkit.api.connection import datagen as datagen
from hdbkit.api.diagnosis import list_databases as list_databases
from hdbkit.api.engines import list_engines as list_engines
from hdbkit.api.engines import new_engine as new_engine
from hdbkit.api.engines import new_workload as new_workload
from hdbkit.api.engines import operations as operations
from hdbkit.api.experiment_result import ExperimentResult as ExperimentResult
from hdbkit.api.experiments import RunningExperiment as RunningExperiment
from hdbkit.api.importing import Imported as Imported
from hdbkit.api.importing import ImportedRuns as ImportedRuns
from hdbkit.api.importing import import_settings as import_settings
from hdbkit.api.max_rate import MaxRate as MaxRate
from hdbkit.api.max_rate import MaxRateRun as MaxRateRun
from hdbkit.api.planning import PlannedHosts as PlannedHosts
from hdbkit.api.planning import PlannedPower as PlannedPower
from hdbkit.api.profiles import Profile as Profile
from hdbkit.api.releases import Release as Release
from hdbkit.api.releases import Releases as Releases
from hdbkit.api.releases import Search as Search
from hdbkit.api.result import Result as Result
from hdbkit.api.running import Running as Running
from hdbkit.api.running import default_load as default_load
from hdbkit.api.servers import list_servers as list_servers
from hdbkit.api.servers import remove_server as remove_server
from hdbkit.api.servers import start_server as start_server
from hdbkit.api.servers import stop_server as stop_server
from hdbkit.api.site import Site as Site
from hdbkit.api.sweeping import SweepResult as SweepResult
from hdbkit.api.workspace import DEFAULT as DEFAULT
from hdbkit.api.workspace import Workspace as Workspace
from hdbkit.config import CustomLoad as CustomLoad
from hdbkit.config import CustomSpec as CustomSpec
from hdbkit.config import Load as Load
from hdbkit.config import Preparation as Preparation
from hdbkit.config import SweepSpec as SweepSpec
from hdbkit.config import Target as Target
from hdbkit.config import TprocCLoad as TprocCLoad
from hdbkit.config import TprocCSpec as TprocCSpec
from hdbkit.config import TprocHLoad as TprocHLoad
from hdbkit.config import TprocHSpec as TprocHSpec
from hdbkit.config import WorkloadSpec as WorkloadSpec
from hdbkit.execution.live import LiveView as LiveView
from hdbkit.execution.live import Tick as Tick
from hdbkit.execution.showing import Shown as Shown
from hdbkit.experiment import ExperimentProgress as ExperimentProgress
from hdbkit.experiment import ExperimentStatus as ExperimentStatus
from hdbkit.loading import Estimate as Estimate
from hdbkit.loading import estimate as estimate
from hdbkit.servers import private_server as private_server

attach = DEFAULT.attach
attach_experiment = DEFAULT.attach_experiment
batch = DEFAULT.batch
certify = DEFAULT.certify
check_engine = DEFAULT.check_engine
check_workload = DEFAULT.check_workload
compare = DEFAULT.compare
connect = DEFAULT.connect
demo = DEFAULT.demo
demo_engines = DEFAULT.demo_engines
doctor = DEFAULT.doctor
end_private = DEFAULT.end_private
experiment_result = DEFAULT.experiment_result
experiments = DEFAULT.experiments
find_max = DEFAULT.find_max
find_slow_commit = DEFAULT.find_slow_commit
history = DEFAULT.history
latencies = DEFAULT.latencies
import_results = DEFAULT.import_results
measure_in_turn = DEFAULT.measure_in_turn
open_target = DEFAULT.open_target
overlay = DEFAULT.overlay
password_source = DEFAULT.password_source
plan_comparison = DEFAULT.plan_comparison
plan_demo = DEFAULT.plan_demo
plan_demo_engines = DEFAULT.plan_demo_engines
plan_max_rate = DEFAULT.plan_max_rate
plan_profile = DEFAULT.plan_profile
plan_sweep = DEFAULT.plan_sweep
plan_releases = DEFAULT.plan_releases
plan_slow_commit = DEFAULT.plan_slow_commit
planned_hosts = DEFAULT.planned_hosts
planned_power = DEFAULT.planned_power
private = DEFAULT.private
private_targets = DEFAULT.private_targets
profile = DEFAULT.profile
profiles = DEFAULT.profiles
ready = DEFAULT.ready
releases = DEFAULT.releases
result = DEFAULT.result
resume_experiment = DEFAULT.resume_experiment
run = DEFAULT.run
run_experiment = DEFAULT.run_experiment
running_experiments = DEFAULT.running_experiments
running_runs = DEFAULT.running_runs
runs = DEFAULT.runs
serve_agent = DEFAULT.serve_agent
show_operations = DEFAULT.show_operations
site = DEFAULT.site
start = DEFAULT.start
start_experiment = DEFAULT.start_experiment
start_sweep = DEFAULT.start_sweep
sweep = DEFAULT.sweep
watch = DEFAULT.watch
