import { randomUUID } from 'node:crypto'
import type { CreateLead, Lead, NewLead } from '@leadwire/contracts'
import type { Transaction } from '@leadwire/service-kit'
import { phoneLink } from './phone-link'
import { type VisitorDevice, visitorDevice } from './visitor-device'

/** A lead on its way into the database. */
export interface Draft {
  accountId: number
  accountKey: string
  lead: NewLead
  reference: string
  device: VisitorDevice
  phoneLink: string
  mobileLink: string | undefined
}

interface AccountRow {
  id: number
  api_key: string
  lead_count: number
}

interface InsertedRow {
  id: number
  customer_id: number
  created_at: string
}

// Locked in the order of their ids, so that two batches that share accounts never wait for each other in a circle.
const LOCK_ACCOUNTS = `
  SELECT id, api_key, lead_count FROM accounts WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`

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

const inputColumns = [...customerColumns, ...leadColumns]

// Number, id and created_at are taken while the account's row is locked, so all three agree on what came first:
// the ids come from the sequence in the order of the input, and the time is never before the account's last.
const INSERT_LEADS = `
  WITH input AS MATERIALIZED (
    SELECT t.*, nextval('customers_id_seq') AS customer_id, nextval('leads_id_seq') AS id,
      greatest(clock_timestamp(), t.last_lead_at) AS created_at
    FROM (
      SELECT given.*, a.last_lead_at
      FROM unnest($1::bigint[], $2::bigint[],
        ${inputColumns.map(([, type], index) => `$${index + 3}::${type}[]`).join(', ')})
        WITH ORDINALITY AS given (account_id, number, ${names(inputColumns)}, ord)
      JOIN accounts a ON a.id = given.account_id
      ORDER BY ord
    ) t
  ), customer AS (
    INSERT INTO customers (account_id, id, created_at, ${names(customerColumns)})
    SELECT account_id, customer_id, created_at, ${names(customerColumns)} FROM input
  ), lead AS (
    INSERT INTO leads (account_id, id, number, customer_id, created_at, updated_at, postcode, ${names(leadColumns)})
    SELECT account_id, id, number, customer_id, created_at, created_at, postcode, ${names(leadColumns)} FROM input
  ), counted AS (
    UPDATE accounts a SET lead_count = newest.number, last_lead_at = newest.created_at
    FROM (SELECT account_id, max(number) AS number, max(created_at) AS created_at FROM input GROUP BY account_id) newest
    WHERE a.id = newest.account_id
  )
  SELECT id, customer_id, created_at FROM input ORDER BY ord`

const draftOf = ({ accountId, lead }: CreateLead, accountKey: string): Draft => ({
  accountId,
  accountKey,
  lead: lead!,
  reference: randomUUID(),
  device: visitorDevice(lead!.userAgent),
  phoneLink: phoneLink(lead!.phone),
  mobileLink: lead!.mobile === undefined ? undefined : phoneLink(lead!.mobile),
})

const leadOf = (draft: Draft, row: InsertedRow): Lead => {
  const { lead, device, reference } = draft
  return {
    id: row.id,
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
    createdAt: row.created_at,
    updatedAt: row.created_at,
    customer: {
      id: row.customer_id,
      firstName: lead.firstName,
      lastName: lead.lastName,
      companyName: lead.companyName,
      email: lead.email,
      phone: lead.phone,
      phoneLink: draft.phoneLink,
      mobile: lead.mobile,
      mobileLink: draft.mobileLink,
      postcode: lead.postcode,
      createdAt: row.created_at,
    },
    quotes: [],
  }
}

/**
 * Inserts leads with their customers, each with its account's next dense number, and answers with their messages
 * (quotes still empty) in the order given. The accounts stay locked until the transaction ends.
 */
export const insertLeads = async (
  tx: Transaction,
  items: CreateLead[],
): Promise<{ accountKey: string; lead: Lead }[]> => {
  const accountIds = [...new Set(items.map(({ accountId }) => accountId))]
  const rows = await tx.query<AccountRow>({
    name: 'lock-accounts',
    text: LOCK_ACCOUNTS,
    values: [accountIds],
  })
  const accounts = new Map(rows.map((row) => [row.id, row]))
  const drafts = items.map((item) => draftOf(item, accounts.get(item.accountId)!.api_key))
  const numbers = drafts.map(({ accountId }) => {
    const account = accounts.get(accountId)!
    account.lead_count += 1
    return account.lead_count
  })
  const inserted = await tx.query<InsertedRow>({
    name: 'insert-leads',
    text: INSERT_LEADS,
    values: [
      drafts.map(({ accountId }) => accountId),
      numbers,
      ...inputColumns.map(([, , value]) => drafts.map((draft) => value(draft) ?? null)),
    ],
  })
  return drafts.map((draft, index) => ({
    accountKey: draft.accountKey,
    lead: leadOf(draft, inserted[index]!),
  }))
}
