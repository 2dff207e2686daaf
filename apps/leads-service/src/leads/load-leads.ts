import type { Lead } from '@leadwire/contracts'
import type { Transaction } from '@leadwire/service-kit'
import {
  CUSTOMER_COLUMNS,
  type CustomerRow,
  customerOfRow,
  LEAD_COLUMNS,
  type LeadRow,
  leadOfRow,
} from './lead-row'
import { loadQuotes } from './load-quotes'

interface FoundRow extends LeadRow, CustomerRow {
  ord: number
  quoted: boolean
}

const SELECT_LEADS = `
  SELECT asked.ord::int, ${LEAD_COLUMNS}, ${CUSTOMER_COLUMNS},
    EXISTS (SELECT 1 FROM quotes q WHERE q.account_id = l.account_id AND q.lead_id = l.id) AS quoted
  FROM unnest($1::bigint[], $2::uuid[]) WITH ORDINALITY AS asked (account_id, reference, ord)
  JOIN leads l ON l.reference = asked.reference AND l.account_id = asked.account_id
  JOIN customers c ON c.account_id = l.account_id AND c.id = l.customer_id`

/**
 * Whole leads, with customer and quotes, in the order asked for; undefined where the account has no such lead.
 * References must be well-formed UUIDs.
 */
export const loadLeads = async (
  db: Transaction,
  asked: { accountId: number; reference: string }[],
  assetsUrl: string,
): Promise<(Lead | undefined)[]> => {
  const rows = await db.query<FoundRow>({
    name: 'load-leads',
    text: SELECT_LEADS,
    values: [asked.map(({ accountId }) => accountId), asked.map(({ reference }) => reference)],
  })
  const quoted = rows.filter((row) => row.quoted)
  const quotes = await loadQuotes(
    db,
    quoted.map((row) => ({ accountId: asked[row.ord - 1]!.accountId, id: row.id })),
    assetsUrl,
  )
  const leads = new Array<Lead | undefined>(asked.length).fill(undefined)
  for (const row of rows) {
    leads[row.ord - 1] = { ...leadOfRow(row), customer: customerOfRow(row), quotes: quotes.get(row.id) ?? [] }
  }
  return leads
}
