import { Unexplained } from '@leadwire/contracts'
import type { Transaction } from '@leadwire/service-kit'

// In one order, so that two checks never deadlock. Of an account that is being deleted nothing is to be explained.
const KEEP = `
  INSERT INTO unexplained (key, account_id, since, finding)
  SELECT DISTINCT ON (key) key, (f ->> 'accountId')::bigint, (f ->> 'since')::timestamptz, f
  FROM unnest($1::text[], $2::json[]) AS found (key, f)
  WHERE NOT EXISTS (SELECT FROM account_deletions d WHERE d.account_id = (f ->> 'accountId')::bigint)
  ORDER BY key
  ON CONFLICT (key) DO UPDATE SET checked_at = clock_timestamp(), finding = excluded.finding`

export const keyOf = ({ kind, accountId, leadNumber, eventId, deliveryId }: Unexplained): string =>
  [kind, accountId, deliveryId ?? eventId ?? leadNumber].join(' ')

/** Stores findings, or that they were found again. */
export const keepFindings = async (db: Transaction, findings: Unexplained[]): Promise<void> => {
  if (findings.length === 0) return
  const values = [findings.map(keyOf), findings.map((finding) => JSON.stringify(finding))]
  await db.query({ name: 'keep-findings', text: KEEP, values })
}

/** Reads findings from the column of them. */
export const findingsOf = (rows: { finding: string }[]): Unexplained[] =>
  rows.map(({ finding }) => Unexplained.fromPartial(JSON.parse(finding)))
