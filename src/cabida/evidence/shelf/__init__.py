"""What a team keeps together: briefs with every version, decisions, jobs, benchmark runs, tokens and the audit log."""

from cabida.evidence.shelf.acting import acting, actor
from cabida.evidence.shelf.auditing import audit_log, check_audit, noted
from cabida.evidence.shelf.briefs import (
    add_brief,
    brief,
    brief_versions,
    briefs,
    change_brief,
    drop_brief,
    restore_brief,
)
from cabida.evidence.shelf.decisions import (
    add_decision,
    decision_text,
    drop_decision,
    kept_decision,
    kept_decisions,
)
from cabida.evidence.shelf.job_claims import beat, begin_job, claim_job, interrupt_jobs, leave, new_server
from cabida.evidence.shelf.jobs import add_job, cancel_job, end_job, job, jobs, tell_job
from cabida.evidence.shelf.nouns import (
    AuditCheck,
    AuditLine,
    Job,
    KeptBrief,
    KeptDecision,
    KeptRun,
    Page,
    Token,
)
from cabida.evidence.shelf.runs import add_run, change_run, kept_run, kept_runs
from cabida.evidence.shelf.tokens import new_token, revoke_token, token_of, token_used, tokens

__all__ = [
    "AuditCheck",
    "AuditLine",
    "Job",
    "KeptBrief",
    "KeptDecision",
    "KeptRun",
    "Page",
    "Token",
    "acting",
    "actor",
    "add_brief",
    "add_decision",
    "add_job",
    "add_run",
    "audit_log",
    "beat",
    "begin_job",
    "brief",
    "brief_versions",
    "briefs",
    "cancel_job",
    "change_brief",
    "change_run",
    "check_audit",
    "claim_job",
    "decision_text",
    "drop_brief",
    "drop_decision",
    "end_job",
    "interrupt_jobs",
    "job",
    "jobs",
    "kept_decision",
    "kept_decisions",
    "kept_run",
    "kept_runs",
    "leave",
    "new_server",
    "new_token",
    "noted",
    "restore_brief",
    "revoke_token",
    "tell_job",
    "token_of",
    "token_used",
    "tokens",
]
