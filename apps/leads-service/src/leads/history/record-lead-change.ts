import { type Actor, LeadListItem, listFields, type NewLead, NewQuote, snakeCase } from '@leadwire/contracts'
import { type OpenTransaction, statement, type Transaction } from '@leadwire/service-kit'
import { recordChangedLead } from './record-changed-lead'

/**
 * A changed field of a lead, or a changed record that belongs to the lead. A user has an id and an e-mail
 * address. For personal fields, `from` and `to` are null.
 */
export type FieldChange = { field: string; from: unknown; to: unknown }

type Changeable = Partial<NewLead>

const SHOWN: ReadonlySet<string> = new Set(
  listFields(LeadListItem).flatMap(({ name, personal }) => (personal ? [] : [name])),
)

// Compares quotes as encoded messages, because the order of an object's members depends on the object's
// origin.
const comparable = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map((quote) => Buffer.from(NewQuote.encode(quote).finish()).toString('base64')).join()
    : value

const shownValue = (value: unknown): unknown => (typeof value === 'boolean' ? Number(value) : value)

const selectUsers = statement<{ id: number }>('changed-users')`
  SELECT id, email FROM users WHERE account_id = $1 AND id = ANY ($2)`

/** Lists the changed fields of a locked lead. Leaves out a field that is set to its current value. */
export const fieldChanges = async (
  tx: Transaction,
  accountId: number,
  before: Changeable,
  after: Changeable,
): Promise<FieldChange[]> => {
  const fields = (Object.keys(after) as (keyof Changeable)[]).filter((field) => field !== 'userId')
  const changes = fields
    .filter((field) => comparable(before[field]) !== comparable(after[field]))
    .map((key): FieldChange => {
      const field = snakeCase(key)
      const [from, to] = SHOWN.has(field) ? [before[key], after[key]].map(shownValue) : [null, null]
      return { field, from, to }
    })
  if (before.userId === after.userId) return changes
  const users = await selectUsers(tx, accountId, [before.userId, after.userId])
  const findUser = ({ userId }: Changeable) => users.find(({ id }) => id === userId) ?? null
  return [...changes, { field: 'user', from: findUser(before), to: findUser(after) }]
}

/**
 * Returns type and data of the event `lead.updated`. `item` is the JSON of the changed lead, and `customer`
 * the JSON of its customer. Without `customer`, the data has no customer.
 */
export const leadUpdated = (item: string, changes: FieldChange[], customer?: string) => {
  const withCustomer = customer === undefined ? '' : `,"customer":${customer}`
  return {
    type: 'lead.updated' as const,
    data: `${item.slice(0, -1)}${withCustomer},"changes":${JSON.stringify(changes)}}`,
  }
}

const keepId = (user: unknown): unknown => user && { id: (user as { id: number }).id }

/**
 * Names a user by id alone. The e-mail address is looked up when the history is read, so that nothing must be
 * rewritten when a user is removed.
 */
const hideUser = (change: FieldChange): FieldChange =>
  change.field === 'user' ? { field: 'user', from: keepId(change.from), to: keepId(change.to) } : change

const insert = statement('record-lead-change')`
  INSERT INTO lead_changes (account_id, lead_id, version, token_id, user_id, request_id, changes, created_at, action)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

/** Writes the history entry of a changed lead. Also lets the figures of the lead be counted again. */
export const recordLeadChange = (
  tx: OpenTransaction,
  change: {
    accountId: number
    leadId: number
    version: number
    actor: Actor | undefined
    changes: FieldChange[]
    at: string
    /** `updated` if absent. */
    action?: 'erased'
  },
): void => {
  const { accountId, leadId, version, actor, changes, at, action = null } = change
  const by = [actor?.tokenId ?? null, actor?.userId ?? null, actor?.requestId ?? null]
  insert.send(tx, accountId, leadId, version, ...by, JSON.stringify(changes.map(hideUser)), at, action)
  recordChangedLead(tx, accountId, leadId)
}
