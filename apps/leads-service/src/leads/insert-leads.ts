import { randomUUID } from 'node:crypto'
import type { CreateLead, Lead, NewLead } from '@leadwire/contracts'
import type { OpenTransaction, Transaction } from '@leadwire/service-kit'
import { phoneLink } from './phone-link'
import { type VisitorDevice, visitorDevice } from './visitor-device'

/** A lead on its way into the database. */
export interface Draft {
  accountId: number
  accountKey: string
  lead: NewLead
  number: number
  id: number
  customerId: number
  createdAt: string
  reference: string
  device: VisitorDevice
  phoneLink: string
  mobileLink: string | undefined
}

interface NumberedRow {
  account_id: number
  api_key: string
  number: number
  id: number
  customer_id: number
  created_at: string
}

// Number, id and created_at are taken while the account's row is locked, so all three agree on what came first, and the
// time is never before the account's last. Accounts are locked in the order of their ids, so that two batches that
// share some never wait for each other in a circle.
const NUMBER_LEADS = `
  WITH locked AS MATERIALIZED (
    SELECT a.id, a.api_key, a.lead_count, a.last_lead_at, asked.leads
    FROM unnest($1::bigint[], $2::int[]) AS asked (account_id, leads) JOIN accounts a ON a.id = asked.account_id
    ORDER BY a.id FOR NO KEY UPDATE OF a
  )
  SELECT locked.id AS account_id, api_key, lead_count + n AS number, nextval('customers_id_seq') AS customer_id,
    nextval('leads_id_seq') AS id, greatest(clock_timestamp(), last_lead_at) AS created_at
  FROM locked CROSS JOIN generate_series(1, leads) AS n`

const customerColumns: [column: string, type: string, value: (draft: Draft) => unknown][] = [
  ['first_name', 'text', ({ lead }) => lead.firstName],
  ['last_name', 'text', ({ lead }) => lead.lastName],
  ['company_name', 'text', ({ lead }) => lead.companyName],
  ['email', 'text', ({ lead }) => lead.email],
  ['phone', 'text', ({ lead }) => lead.phone],
  ['phone_link', 'text', (draft) => draft.phoneLink],
  ['mobile', 'text', ({ lead }) => lead.mobile],
  ['mobile_link', 'text', (draft) => draft.mobileLink],
  ['postcode', 'text', ({ lead }) => lead.postcode],
]

const leadColumns: typeof customerColumns = [
  ['reference', 'uuid', ({ reference }) => reference],
  ['user_id', 'bigint', ({ lead }) => lead.userId],
  ['name', 'text', ({ lead }) => lead.name],
  ['value', 'integer', ({ lead }) => lead.value],
  ['description', 'text', ({ lead }) => lead.description],
  ['user_agent', 'text', ({ lead }) => lead.userAgent],
  ['ip', 'text', ({ lead }) => lead.ip],
  ['referrer', 'text', ({ lead }) => lead.referrer],
  ['referrer_url', 'text', ({ lead }) => lead.referrerUrl],
  ['device_type', 'text', ({ device }) => device.deviceType],
  ['device_name', 'text', ({ device }) => device.deviceName],
  ['browser', 'text', ({ device }) => device.browser],
  ['browser_version', 'text', ({ device }) => device.browserVersion],
  ['os', 'text', ({ device }) => device.os],
  ['os_version', 'text', ({ device }) => device.osVersion],
  ['status', 'text', ({ lead }) => lead.status],
  ['test', 'boolean', ({ lead }) => lead.test],
]

const names = (columns: typeof customerColumns) => columns.map(([column]) => column).join(', ')

const inputColumns: typeof customerColumns = [
  ['account_id', 'bigint', ({ accountId }) => accountId],
  ['number', 'bigint', ({ number }) => number],
  ['id', 'bigint', ({ id }) => id],
  ['customer_id', 'bigint', ({ customerId }) => customerId],
  ['created_at', 'timestamptz', ({ createdAt }) => createdAt],
  ...customerColumns,
  ...leadColumns,
]

const INSERT_LEADS = `
  WITH input AS MATERIALIZED (
    SELECT * FROM unnest(${inputColumns.map(([, type], index) => `$${index + 1}::${type}[]`).join(', ')})
      AS given (${names(inputColumns)})
  ), customer AS (
    INSERT INTO customers (account_id, id, created_at, ${names(customerColumns)})
    SELECT account_id, customer_id, created_at, ${names(customerColumns)} FROM input
  ), lead AS (
    INSERT INTO leads (account_id, id, number, customer_id, created_at, updated_at, postcode, ${names(leadColumns)})
    SELECT account_id, id, number, customer_id, created_at, created_at, postcode, ${names(leadColumns)} FROM input
  )
  UPDATE accounts a SET lead_count = newest.number, last_lead_at = newest.created_at
  FROM (SELECT account_id, max(number) AS number, max(created_at) AS created_at FROM input GROUP BY account_id) newest
  WHERE a.id = newest.account_id`

const draftOf = ({ accountId, lead }: CreateLead, row: NumberedRow): Draft => ({
  accountId,
  accountKey: row.api_key,
  lead: lead!,
  number: row.number,
  id: row.id,
  customerId: row.customer_id,
  createdAt: row.created_at,
  reference: randomUUID(),
  device: visitorDevice(lead!.userAgent),
  phoneLink: phoneLink(lead!.phone),
  mobileLink: lead!.mobile === undefined ? undefined : phoneLink(lead!.mobile),
})

const leadOf = (draft: Draft): Lead => {
  const { lead, device, reference } = draft
  return {
    id: draft.id,
    reference,
    name: lead.name,
    value: lead.value,
    description: lead.description,
    postcode: lead.postcode,
    userAgent: lead.userAgent,
    ip: lead.ip,
    referrer: lead.referrer,
    referrerUrl: lead.referrerUrl,
    ...device,
    status: lead.status,
    type: 'quote',
    // A lead with status `test` is a test lead, whoever made it.
    test: lead.test || lead.status === 'test',
    createdAt: draft.createdAt,
    updatedAt: draft.createdAt,
    customer: {
      id: draft.customerId,
      firstName: lead.firstName,
      lastName: lead.lastName,
      companyName: lead.companyName,
      email: lead.email,
      phone: lead.phone,
      phoneLink: draft.phoneLink,
      mobile: lead.mobile,
      mobileLink: draft.mobileLink,
      postcode: lead.postcode,
      createdAt: draft.createdAt,
    },
    quotes: [],
  }
}

/** Takes a number, ids and a time for each item; the items' accounts stay locked until the transaction ends. */
const numberLeads = async (tx: Transaction, items: CreateLead[]): Promise<NumberedRow[]> => {
  const counts = new Map<number, number>()
  for (const { accountId } of items) counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
  const rows = await tx.query<NumberedRow>({
    name: 'number-leads',
    text: NUMBER_LEADS,
    values: [[...counts.keys()], [...counts.values()]],
  })
  const rowsOf = new Map<number, NumberedRow[]>()
  for (const row of rows.reverse()) {
    const others = rowsOf.get(row.account_id)
    if (others) others.push(row)
    else rowsOf.set(row.account_id, [row])
  }
  return items.map(({ accountId }) => rowsOf.get(accountId)!.pop()!)
}

/**
 * Inserts leads with their customers, each with its account's next dense number, and answers with their messages
 * (quotes still empty) in the order given. The accounts stay locked until the transaction ends.
 */
export const insertLeads = async (
  tx: OpenTransaction,
  items: CreateLead[],
): Promise<{ accountKey: string; lead: Lead }[]> => {
  const rows = await numberLeads(tx, items)
  const drafts = items.map((item, index) => draftOf(item, rows[index]!))
  tx.send({
    name: 'insert-leads',
    text: INSERT_LEADS,
    values: inputColumns.map(([, , value]) => drafts.map((draft) => value(draft) ?? null)),
  })
  return drafts.map((draft) => ({ accountKey: draft.accountKey, lead: leadOf(draft) }))
}
