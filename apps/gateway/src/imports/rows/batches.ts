import type { Readable } from 'node:stream'
import { type AdvanceImportRequest, type ClaimedImport, type ImportRow, leadCost } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import type { Static } from '@sinclair/typebox'
import { newVisitorLead } from '../../leads/visitor-lead'
import type { VisitorLead } from '../../leads/visitor-lead-fields'
import type { Body, Checked } from '../../validation/checker'
import type { FieldErrors } from '../../validation/errors'
import { csvRows } from './csv-rows'
import { ndjsonRows } from './ndjson-rows'
import { type Row, UnreadableFile } from './rows'

/** The rows of one transaction: what the next create of the account waits for. */
const PORTION_ROWS = 100
const PORTION_COST = 300
/** Of a row's faulty fields so many are kept. */
const MAX_ERRORS = 20

export type CheckRow = (body: Body) => Checked<Static<typeof VisitorLead>>

type Portion = Pick<AdvanceImportRequest, 'to' | 'rows' | 'columns' | 'delimiter' | 'finished' | 'failure'>

const faulty = (errors: FieldErrors): ImportRow => {
  const kept = Object.fromEntries(Object.entries(errors).slice(0, MAX_ERRORS))
  return { row: { $case: 'faults', value: JSON.stringify(kept) } }
}

/** What a row says, checked as the body of POST /manage/leads is. */
const checkedRow = ({ read }: Row, { visitor }: ClaimedImport, check: CheckRow): ImportRow => {
  try {
    const body = read()
    const { value, errors } = check(body)
    return errors ? faulty(errors) : { row: { $case: 'lead', value: newVisitorLead(visitor!, value, body) } }
  } catch (error) {
    if (error instanceof ServiceError) return faulty({ row: [error.detail] })
    throw error
  }
}

const costOf = ({ row }: ImportRow): number =>
  row?.$case === 'lead' ? leadCost({ lead: row.value } as Parameters<typeof leadCost>[0]) : 1

/**
 * The rest of an import's file, in portions of rows that one transaction creates. The last is finished, or says why no more can be
 * read. `bytes` begin where the import stands.
 */
export async function* portionsOf(
  claimed: ClaimedImport,
  bytes: Readable,
  check: CheckRow,
): AsyncGenerator<Portion> {
  const header = { columns: claimed.columns, delimiter: claimed.delimiter }
  const source =
    claimed.format === 'csv' ? csvRows(bytes, claimed.position, header) : ndjsonRows(bytes, claimed.position)
  let to = claimed.position
  let rows: ImportRow[] = []
  let cost = 0
  const portion = (over: Partial<Portion> = {}): Portion => {
    const taken = { to, rows, ...header, finished: false, failure: undefined, ...over }
    rows = []
    cost = 0
    return taken
  }
  try {
    for await (const row of source) {
      const checked = checkedRow(row, claimed, check)
      to = row.end
      rows.push(checked)
      cost += costOf(checked)
      if (rows.length >= PORTION_ROWS || cost >= PORTION_COST) yield portion()
    }
    yield portion({ to: claimed.fileSize, finished: true })
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    yield portion({ failure: error.message })
  }
}
