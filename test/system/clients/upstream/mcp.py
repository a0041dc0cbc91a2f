"""beads-mcp: every operation of the client with which its server runs bd."""
import asyncio
import sys

from beads_mcp.bd_client import BdCliClient, BdCommandError
from beads_mcp.models import (AddCommentParams, AddDependencyParams, AddNoteParams, BlockedParams, ClaimIssueParams, CloseIssueParams,
                              CreateIssueParams, InitParams, ListCommentsParams, ListIssuesParams, ReadyWorkParams, ReopenIssueParams,
                              ShowIssueParams, UpdateIssueParams)


async def drive(folder):
    client = BdCliClient(working_dir=folder, actor="ann", no_auto_flush=True, no_auto_import=True)
    await client._check_version()
    assert await client.init(InitParams(prefix="bd"))
    a = await client.create(CreateIssueParams(title="a", description="d", design="D", acceptance="A", external_ref="gh-1", priority=1, issue_type="bug",
                                              assignee="ann", labels=["x", "y"]))
    assert (a.status, a.issue_type, a.labels, a.external_ref) == ("open", "bug", ["x", "y"], "gh-1")
    b = await client.create(CreateIssueParams(title="b", id="bd-b", deps=[f"discovered-from:{a.id}"]))
    await client.add_dependency(AddDependencyParams(issue_id=b.id, depends_on_id=a.id))
    shown = await client.show(ShowIssueParams(issue_id=b.id))
    assert {d.dependency_type for d in shown.dependencies} in ({"blocks", "discovered-from"}, set()) and shown.dependency_count == 2
    assert [i.id for i in await client.blocked(BlockedParams())] == [b.id]
    assert [i.id for i in await client.ready(ReadyWorkParams(sort_policy="hybrid", labels=["x"], limit=5))] == [a.id]
    assert len(await client.list_issues(ListIssuesParams(status="open", query="a"))) == 1
    assert [i.id for i in await client.list_issues(ListIssuesParams(unassigned=True))] == [b.id]
    got = await client.update(UpdateIssueParams(issue_id=a.id, status="in_progress", priority=0, title="new", notes="text", acceptance_criteria="AC"))
    assert (got.title, got.notes, got.status, got.acceptance_criteria) == ("new", "text", "in_progress", "AC")
    assert (await client.claim(ClaimIssueParams(issue_id=a.id))).assignee == "ann"
    assert await client.add_comment(AddCommentParams(issue_id=a.id, text="said"))
    assert await client.add_note(AddNoteParams(issue_id=a.id, text="noted")) is not None
    assert "said" in [c.text for c in await client.list_comments(ListCommentsParams(issue_id=a.id))]
    assert [i.status for i in await client.close(CloseIssueParams(issue_id=a.id))] == ["closed"]
    stats = (await client.stats()).summary
    assert (stats.total_issues, stats.closed_issues, stats.open_issues, stats.blocked_issues) == (2, 1, 1, 0)
    assert [i.status for i in await client.reopen(ReopenIssueParams(issue_ids=[a.id], reason="again"))] == ["open"]
    assert "bd ready" in await client.quickstart()
    assert (await client.get_schema_info())["issue_count"] == 2
    assert "checks" in await client.validate(fix_all=True) and "checks" in await client.detect_pollution()
    try:
        await client.show(ShowIssueParams(issue_id="bd-none"))
    except BdCommandError as error:
        assert "there is no bead 'bd-none'" in str(error)
    else:
        raise AssertionError("an unknown id was shown")


asyncio.run(drive(sys.argv[1]))
print("done")
