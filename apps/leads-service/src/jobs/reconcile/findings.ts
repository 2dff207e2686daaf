import { Unexplained } from '@leadwire/contracts'
import type { OpenTransaction } from '@leadwire/service-kit'
import { inserter, insertTogether } from '../../database/inserter'
import { rowMapper } from '../../database/row-mapper'

/** What was found, in the columns of the table. */
export const UNEXPLAINED = rowMapper(Unexplained, 'unexplained')

export const keyOf = ({ kind, accountId, leadNumber, eventId, deliveryId }: Unexplained) =>
  [kind, accountId, deliveryId ?? eventId ?? leadNumber].join(' ')

const rowsOf = inserter<Unexplained>(
  'unexplained',
  [
    ['key', 'text', keyOf],
    ['kind', 'text', ({ kind }) => kind],
    ['account_id', 'bigint', ({ accountId }) => accountId],
    ['lead_number', 'bigint', ({ leadNumber }) => leadNumber],
    ['lead_reference', 'uuid', ({ leadReference }) => leadReference],
    ['event_id', 'uuid', ({ eventId }) => eventId],
    ['delivery_id', 'bigint', ({ deliveryId }) => deliveryId],
    ['since', 'timestamptz', ({ since }) => since],
    ['detail', 'text', ({ detail }) => detail],
  ],
  'ON CONFLICT (key) DO UPDATE SET checked_at = clock_timestamp(), detail = excluded.detail',
)

/** Stores findings, or that they were found again; in one order, so that two checks never deadlock. */
export const keepFindings = (tx: OpenTransaction, findings: Unexplained[]): void => {
  const byKey = new Map(findings.map((finding) => [keyOf(finding), finding]))
  const inOrder = [...byKey.keys()].toSorted().map((key) => byKey.get(key)!)
  insertTogether(tx, [rowsOf(inOrder)])
}
