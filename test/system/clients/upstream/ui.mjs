// beads-ui: every request that its page sends to its server.
import { strict as assert } from "node:assert"

process.chdir(process.argv[2])
const { handleMessage } = await import("./node_modules/beads-ui/server/ws.js")
const { fetchListForSubscription } = await import("./node_modules/beads-ui/server/list-adapters.js")

let next = 0
async function ask(type, payload) {
  const replies = []
  const id = `r${next++}`
  await handleMessage({ readyState: 1, OPEN: 1, send: text => replies.push(JSON.parse(text)) }, Buffer.from(JSON.stringify({ id, type, payload })))
  const reply = replies.find(r => r.id === id)
  assert.ok(reply?.ok, `${type}: ${JSON.stringify(reply)}`)
  return reply.payload
}
async function list(type, params) {
  const got = await fetchListForSubscription({ type, params }, { cwd: process.cwd() })
  assert.ok(got.ok, JSON.stringify(got))
  return got.items
}

await ask("create-issue", { title: "a", type: "bug", priority: 1, description: "d" })
await ask("create-issue", { title: "b", type: "task" })
await ask("create-issue", { title: "epic", type: "epic" })
const ids = Object.fromEntries((await list("all-issues")).map(i => [i.title, i.id]))
assert.deepEqual(Object.keys(ids).sort(), ["a", "b", "epic"])
const { a, b, epic } = ids

assert.equal((await ask("update-assignee", { id: a, assignee: "ann" })).assignee ?? "ann", "ann")
await ask("update-status", { id: a, status: "in_progress" })
await ask("update-priority", { id: a, priority: 0 })
for (const field of ["title", "description", "acceptance", "notes", "design"]) await ask("edit-text", { id: a, field, value: `new ${field}` })
await ask("dep-add", { a: b, b: a, view_id: b })
assert.deepEqual((await list("blocked-issues")).map(i => i.id), [b])
const [shown] = await list("issue-detail", { id: a })
assert.deepEqual([shown.title, shown.notes, shown.design, shown.status, shown.priority], ["new title", "new notes", "new design", "in_progress", 0])
assert.equal(shown.dependents[0].id, b)
await ask("dep-remove", { a: b, b: a, view_id: b })
await ask("label-add", { id: a, label: "x" })
await ask("label-remove", { id: a, label: "x" })
await ask("add-comment", { id: a, text: "said" })
assert.deepEqual((await ask("get-comments", { id: a })).map(c => c.text), ["said"])
assert.deepEqual((await list("in-progress-issues")).map(i => i.id), [a])
assert.deepEqual((await list("ready-issues")).map(i => i.id).sort(), [b, epic].sort())
assert.deepEqual((await list("epics")).map(i => [i.id, i.total_children]), [[epic, 0]])
assert.ok((await list("epics"))[0].created_at > 0)
await ask("update-status", { id: b, status: "closed" })
assert.deepEqual((await list("closed-issues")).map(i => i.id), [b])
await ask("delete-issue", { id: b })
assert.equal((await list("all-issues")).length, 2)
console.log("done")
process.exit(0)
