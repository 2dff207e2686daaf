import { claimDue, type Elsewhere, removeFiles } from '../elsewhere'
import { lockProgress } from '../search/write-terms'

/** The maximum number of leads that one transaction removes. */
const LEADS = 100
/** The maximum number of imports that one round removes. Each import has at most 10,000 stored errors. */
const IMPORTS = 10
/** The maximum number of rows that one statement deletes. */
const ROWS = 500

// Claims the account that has waited longest, so that accounts alternate.
const CLAIM = claimDue('account_deletions', 1, 'account_id AS "accountId"')

const RELEASE = 'UPDATE account_deletions SET due_at = clock_timestamp() WHERE account_id = $1'

const FIND_LEADS = `SELECT id, number, reference FROM leads WHERE account_id = $1 ORDER BY id LIMIT ${LEADS}`

const OF_LEADS = 'account_id = $1 AND lead_id = ANY ($2)'

/**
 * The statements that delete leads and their records, in an order that the foreign keys allow. A new table of
 * records needs a new statement here. Attachments are deleted earlier, with their files.
 */
const DELETE_LEADS = [
  // Takes the locks in the order in which other transactions take them: leads before their records.
  'SELECT FROM leads WHERE account_id = $1 AND id = ANY ($2) ORDER BY id FOR UPDATE',
  // Must run before the leads are deleted, because it finds the terms by the attributes of the leads.
  `DELETE FROM lead_attributes t USING leads l, json_each_text(l.attributes) a
  WHERE l.account_id = $1 AND l.id = ANY ($2) AND t.account_id = $1 AND t.number = l.number AND t.term = a.key || ':' || a.value`,
  `DELETE FROM erasures WHERE ${OF_LEADS}`,
  `DELETE FROM lead_changes WHERE ${OF_LEADS}`,
  `DELETE FROM appointments WHERE ${OF_LEADS}`,
  `DELETE FROM callbacks WHERE ${OF_LEADS}`,
  `DELETE FROM notes WHERE ${OF_LEADS}`,
  `DELETE FROM due_events WHERE ${OF_LEADS}`,
  `DELETE FROM quote_items WHERE account_id = $1 AND quote_id = ANY (ARRAY (SELECT id FROM quotes WHERE ${OF_LEADS}))`,
  `DELETE FROM quotes WHERE ${OF_LEADS}`,
  'DELETE FROM leads WHERE account_id = $1 AND id = ANY ($2)',
]

const DELETE_WORDS = 'DELETE FROM lead_search WHERE account_id = $1 AND number = ANY ($2)'

const COUNT = 'UPDATE account_deletions SET removed_leads = removed_leads + $2 WHERE account_id = $1'

const OF_ACCOUNT = 'account_id = $1'

/** Tables in which an account may have many rows. These rows are deleted in batches. */
const LARGE_TABLES: [table: string, condition: string][] = [
  ['idempotency_keys', 'token_id = ANY (ARRAY (SELECT id FROM tokens WHERE account_id = $1))'],
  ['audit', OF_ACCOUNT],
  ['outbox', OF_ACCOUNT],
  ['unexplained', OF_ACCOUNT],
  ['changed_leads', OF_ACCOUNT],
  ['lead_figures', OF_ACCOUNT],
  ['daily_figures', OF_ACCOUNT],
  ['response_figures', OF_ACCOUNT],
  ['views', OF_ACCOUNT],
]

const LAST = [
  'DELETE FROM tokens WHERE account_id = $1',
  'DELETE FROM users WHERE account_id = $1',
  'DELETE FROM lead_search_progress WHERE account_id = $1',
  'DELETE FROM reconciled_leads WHERE account_id = $1',
  'DELETE FROM lead_retention WHERE account_id = $1',
  // Waits for a batch that is being counted, and then deletes the rows that this batch has added.
  'DELETE FROM figures_progress WHERE account_id = $1',
  'DELETE FROM lead_figures WHERE account_id = $1',
  'DELETE FROM daily_figures WHERE account_id = $1',
  'DELETE FROM response_figures WHERE account_id = $1',
  'DELETE FROM accounts WHERE id = $1',
  'UPDATE account_deletions SET finished_at = clock_timestamp() WHERE account_id = $1',
]

/**
 * Removes a batch of an account's leads: first their files, events and messages, and then their rows.
 * Resolves with whether there were any leads.
 */
const removeLeads = async (deps: Elsewhere, accountId: number): Promise<boolean> => {
  const { database, webhooks } = deps
  const leads = await database.query<{ id: number; number: number; reference: string }>({
    text: FIND_LEADS,
    values: [accountId],
  })
  if (leads.length === 0) return false
  const leadValues = [accountId, leads.map(({ id }) => id)]
  const files = { condition: OF_LEADS, values: leadValues, limit: ROWS }
  while (await removeFiles(deps, 'attachments', files));
  const leadReferences = leads.map(({ reference }) => reference)
  const { messages } = await webhooks.removeLeadEvents({ accountId, leadReferences })
  for (const message of messages) await deps.deleteMessage(message)
  await database.transaction(async (tx) => {
    for (const text of DELETE_LEADS) tx.send({ text, values: leadValues })
    // Locks the search progress before the terms are deleted. An indexer that has read these leads has then
    // committed their terms, which are deleted below. A later indexer finds no leads.
    await lockProgress(tx, accountId, { skip: false })
    tx.send({ text: DELETE_WORDS, values: [accountId, leads.map(({ number }) => number)] })
    tx.send({ text: COUNT, values: [accountId, leads.length] })
  })
  return true
}

/** Removes a batch of an account's data. The last batch is the account itself. */
const removeBatch = async (deps: Elsewhere, accountId: number): Promise<void> => {
  const values = [accountId]
  const files = { condition: OF_ACCOUNT, values }
  // Imports come first, because they create leads.
  if (await removeFiles(deps, 'imports', { ...files, limit: IMPORTS })) return
  if (await removeLeads(deps, accountId)) return
  if (await removeFiles(deps, 'images', { ...files, limit: ROWS })) return
  for (const [table, condition] of LARGE_TABLES) {
    const batch = `SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${ROWS}`
    const text = `DELETE FROM ${table} WHERE ctid = ANY (ARRAY (${batch})) RETURNING 1`
    if ((await deps.database.query({ text, values })).length === ROWS) return
  }
  // Called only when the outbox has no event of the account. Otherwise an event could still be published, and
  // webhook-service would store the event after it has removed the account.
  const { done } = await deps.webhooks.removeAccount({ accountId })
  if (!done) return
  await deps.database.transaction(async (tx) => {
    for (const text of LAST) tx.send({ text, values })
  })
}

/** Removes a batch of an account that is being deleted. Resolves with whether there was such an account. */
export const deleteOnce = async (deps: Elsewhere): Promise<boolean> => {
  const [claimed] = await deps.database.query<{ accountId: number }>({ text: CLAIM })
  if (!claimed) return false
  const { accountId } = claimed
  await deps.webhooks.holdAccount({ accountId, held: true })
  await removeBatch(deps, accountId)
  await deps.database.query({ text: RELEASE, values: [accountId] })
  return true
}
