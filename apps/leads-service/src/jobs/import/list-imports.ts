import type { ListImportsRequest, ListImportsResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { isId, validate } from '../../arguments'
import { IMPORT_COLUMNS, type ImportRow } from './import-row'

const PER_ANSWER = 100

// One row more than the response has shows whether more follow.
const SELECT = `
  SELECT ${IMPORT_COLUMNS} FROM imports t
  WHERE account_id = $1 AND id < $2 ORDER BY id DESC LIMIT ${PER_ANSWER + 1}`

/** An account's imports, newest first. */
export const listImports =
  (deps: { database: Database }) =>
  async ({ accountId, before }: ListImportsRequest): Promise<ListImportsResponse> => {
    validate({ account_id: isId(accountId), before: before === undefined || isId(before) })
    const values = [accountId, before ?? Number.MAX_SAFE_INTEGER]
    const rows = await deps.database.query<ImportRow>({ name: 'list-imports', text: SELECT, values })
    const shown = rows.slice(0, PER_ANSWER)
    return {
      items: Buffer.from(JSON.stringify(shown)),
      nextBefore: rows.length > PER_ANSWER ? shown.at(-1)!.id : undefined,
    }
  }
