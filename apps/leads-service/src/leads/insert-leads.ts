import type { OpenTransaction, Query } from '@leadwire/service-kit'
import type { Draft } from './draft-lead'
import type { Stamp } from './stamp-event'

interface StampedRow {
  ord: number
  api_key: string
  id: number
  customer_id: number
  created_at: string
}

// Accounts are locked in the order of their ids, so that two batches that share some never wait for each other in a
// circle. Times are never before the account's last; those of one batch are a microsecond apart.
const NUMBER_LEADS = `
  WITH locked AS MATERIALIZED (
    SELECT a.id, asked.leads
    FROM unnest($1::bigint[], $2::int[]) AS asked (account_id, leads) JOIN accounts a ON a.id = asked.account_id
    ORDER BY a.id FOR NO KEY UPDATE OF a
  )
  UPDATE accounts a SET lead_count = lead_count + leads,
    last_lead_at = greatest(clock_timestamp(), last_lead_at) + (leads - 1) * interval '1 microsecond'
  FROM locked WHERE a.id = locked.id`

type Column = [column: string, type: string, value: (draft: Draft) => unknown]

const customerColumns: Column[] = [
  ['first_name', 'text', ({ item }) => item.lead!.firstName],
  ['last_name', 'text', ({ item }) => item.lead!.lastName],
  ['company_name', 'text', ({ item }) => item.lead!.companyName],
  ['email', 'text', ({ item }) => item.lead!.email],
  ['phone', 'text', ({ item }) => item.lead!.phone],
  ['phone_link', 'text', ({ event }) => event.lead!.customer!.phoneLink],
  ['mobile', 'text', ({ item }) => item.lead!.mobile],
  ['mobile_link', 'text', ({ event }) => event.lead!.customer!.mobileLink],
  ['postcode', 'text', ({ item }) => item.lead!.postcode],
]

const leadColumns: Column[] = [
  ['reference', 'uuid', ({ event }) => event.lead!.reference],
  ['user_id', 'bigint', ({ item }) => item.lead!.userId],
  ['name', 'text', ({ item }) => item.lead!.name],
  ['value', 'integer', ({ item }) => item.lead!.value],
  ['description', 'text', ({ item }) => item.lead!.description],
  ['user_agent', 'text', ({ item }) => item.lead!.userAgent],
  ['ip', 'text', ({ item }) => item.lead!.ip],
  ['referrer', 'text', ({ item }) => item.lead!.referrer],
  ['referrer_url', 'text', ({ item }) => item.lead!.referrerUrl],
  ['device_type', 'text', ({ event }) => event.lead!.deviceType],
  ['device_name', 'text', ({ event }) => event.lead!.deviceName],
  ['browser', 'text', ({ event }) => event.lead!.browser],
  ['browser_version', 'text', ({ event }) => event.lead!.browserVersion],
  ['os', 'text', ({ event }) => event.lead!.os],
  ['os_version', 'text', ({ event }) => event.lead!.osVersion],
  ['status', 'text', ({ item }) => item.lead!.status],
  ['test', 'boolean', ({ item }) => item.lead!.test],
]

const names = (columns: Column[]) => columns.map(([column]) => column).join(', ')

const inputColumns: Column[] = [
  ['account_id', 'bigint', ({ item }) => item.accountId],
  ['event_id', 'uuid', ({ event }) => event.eventId],
  ['payload', 'bytea', ({ payload }) => payload && Buffer.from(payload)],
  ...customerColumns,
  ...leadColumns,
]

/** Writes what `input` tells of leads: what was given of each, and their numbers, ids and times. */
const insertFrom = (input: string) => `
  WITH ${input}, customer AS (
    INSERT INTO customers (account_id, id, created_at, ${names(customerColumns)})
    SELECT account_id, customer_id, created_at, ${names(customerColumns)} FROM input
  ), lead AS (
    INSERT INTO leads (account_id, id, number, customer_id, created_at, updated_at, postcode, ${names(leadColumns)})
    SELECT account_id, id, number, customer_id, created_at, created_at, postcode, ${names(leadColumns)} FROM input
  ), event AS (
    INSERT INTO outbox (event_id, account_id, kind, payload, lead_id)
    SELECT event_id, account_id, 'lead.created', payload, id FROM input WHERE payload IS NOT NULL
  )
  SELECT ord::int, api_key, id, customer_id, created_at FROM input`

const IDS = `nextval('customers_id_seq') AS customer_id, nextval('leads_id_seq') AS id`

// A statement of its own behind the one that locks: only so it sees what the account's row says under the lock. Number, id
// and created_at are taken there, in the order of the batch, so all three agree on what came first. `behind` is how many
// leads of the same account follow in the batch.
const INSERT_LEADS = insertFrom(`
  input AS MATERIALIZED (
    SELECT given.*, a.api_key, a.lead_count - behind AS number,
      a.last_lead_at - behind * interval '1 microsecond' AS created_at, ${IDS}
    FROM unnest($1::int[], ${inputColumns.map(([, type], index) => `$${index + 2}::${type}[]`).join(', ')})
      WITH ORDINALITY AS given (behind, ${names(inputColumns)}, ord) JOIN accounts a ON a.id = given.account_id
    ORDER BY ord
  )`)

// The same for one lead, which can lock its account and see its row at once, and needs no arrays: two thirds of what the
// two statements cost PostgreSQL (490 and 690 us on a warm connection).
const INSERT_LEAD = insertFrom(`
  counted AS (
    UPDATE accounts SET lead_count = lead_count + 1, last_lead_at = greatest(clock_timestamp(), last_lead_at)
    WHERE id = $1 RETURNING api_key, lead_count AS number, last_lead_at AS created_at
  ), input AS MATERIALIZED (
    SELECT 1 AS ord, ${inputColumns.map(([column, type], index) => `$${index + 1}::${type} AS ${column}`).join(', ')},
      counted.*, ${IDS}
    FROM counted
  )`)

/** For each draft how many of its account's come behind it, and how many each account has. */
const countLeads = (drafts: Draft[]) => {
  const counts = new Map<number, number>()
  const behind = drafts.map(() => 0)
  for (let index = drafts.length - 1; index >= 0; index -= 1) {
    const { accountId } = drafts[index]!.item
    behind[index] = counts.get(accountId) ?? 0
    counts.set(accountId, behind[index]! + 1)
  }
  return { counts, behind }
}

const insertOne = (draft: Draft): Query => ({
  name: 'insert-lead',
  text: INSERT_LEAD,
  values: inputColumns.map(([, , value]) => value(draft) ?? null),
})

const insertMany = (tx: OpenTransaction, drafts: Draft[]): Query => {
  const { counts, behind } = countLeads(drafts)
  tx.send({ name: 'number-leads', text: NUMBER_LEADS, values: [[...counts.keys()], [...counts.values()]] })
  return {
    name: 'insert-leads',
    text: INSERT_LEADS,
    values: [behind, ...inputColumns.map(([, , value]) => drafts.map((draft) => value(draft) ?? null))],
  }
}

/**
 * Inserts leads with their customers and drafted events, each lead with its account's next dense number; answers with what
 * PostgreSQL says of each, in the order given; nothing is said or written of one whose account is not there. The accounts stay locked until the transaction ends.
 */
export const insertLeads = async (tx: OpenTransaction, drafts: Draft[]): Promise<(Stamp | undefined)[]> => {
  const insert = drafts.length === 1 ? insertOne(drafts[0]!) : insertMany(tx, drafts)
  const rows = await tx.query<StampedRow>(insert)
  const stamps = new Array<Stamp | undefined>(drafts.length)
  for (const { ord, api_key: accountKey, id, customer_id: customerId, created_at: createdAt } of rows) {
    stamps[ord - 1] = { accountKey, id, customerId, createdAt }
  }
  return stamps
}
