import { type Actor, snakeCase } from '@leadwire/contracts'
import {
  type Database,
  differences,
  type OpenTransaction,
  recordAudit,
  ServiceError,
  type Transaction,
} from '@leadwire/service-kit'
import { isId, validate } from '../arguments'
import { type Row, rowMapper } from './row-mapper'

/** What an operation of the management API gets; `actor` is the caller. */
export interface ManagementDeps {
  database: Database
  actor?: Actor | undefined
}

/** The account's id and the record's, by the names that errors give them. An account has only one. */
type Ids = Record<string, number>

interface Change<Message> {
  action: `${string}.${string}`
  /** The fields that the audit log shows. A change of none of them is not logged. */
  logged: (keyof Message & string)[]
  /** SQL whose parameters are the ids, then `values`. */
  set: string
  values?: unknown[]
  /** Throws where the record may not be changed. */
  check?: (before: Message, tx: OpenTransaction) => void | Promise<void>
}

/** Reads and changes the records of a table that the management API shows, and logs each change in its transaction. */
export const managedRecords = <Message extends { id: number }>(
  type: { fromPartial(fields: object): Message },
  table: string,
  what: string,
) => {
  const { columns, query } = rowMapper(type, table)
  const where = what === 'account' ? 'id = $1' : 'account_id = $1 AND id = $2'
  const shown = (message: Message, fields: Change<Message>['logged']) =>
    Object.fromEntries(fields.map((field) => [snakeCase(field), message[field]]))

  /** One record. Throws not_found. */
  const retrieve = async (db: Transaction, ids: Ids, lock = ''): Promise<Message> => {
    validate(Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, isId(id)])))
    const text = `SELECT ${columns} FROM ${table} WHERE ${where} ${lock}`
    const [found] = await query(db, { text, values: Object.values(ids) })
    if (!found) throw new ServiceError('not_found', `There is no such ${what}.`)
    return found
  }

  return {
    retrieve,
    /** The records that meet a condition, oldest first. */
    list: (db: Transaction, condition: string, values: unknown[]): Promise<Message[]> =>
      query(db, { text: `SELECT ${columns} FROM ${table} WHERE ${condition} ORDER BY id`, values }),
    insert: async (
      tx: OpenTransaction,
      actor: Actor | undefined,
      row: Row & { account_id?: number },
      logged: Change<Message>['logged'],
    ): Promise<Message> => {
      const names = Object.keys(row)
      const places = names.map((_, index) => `$${index + 1}`)
      const text = `INSERT INTO ${table} (${names}) VALUES (${places}) RETURNING ${columns}`
      const [made] = await query(tx, { text, values: Object.values(row) })
      const { id } = made!
      const target = { accountId: row.account_id ?? id, targetId: id }
      const changes = differences({}, shown(made!, logged))
      recordAudit(tx, actor, { ...target, action: `${what}.created`, changes })
      return made!
    },
    /** Changes a record, which it locks first. Throws not_found. */
    change: ({ database, actor }: ManagementDeps, ids: Ids, change: Change<Message>): Promise<Message> =>
      database.transaction(async (tx) => {
        const { action, logged, set, values = [], check } = change
        const before = await retrieve(tx, ids, 'FOR NO KEY UPDATE')
        await check?.(before, tx)
        const keys = Object.values(ids)
        const text = `UPDATE ${table} SET ${set} WHERE ${where} RETURNING ${columns}`
        const [after] = await query(tx, { text, values: [...keys, ...values] })
        const changes = differences(shown(before, logged), shown(after!, logged))
        if (Object.keys(changes).length > 0)
          recordAudit(tx, actor, { accountId: keys[0]!, action, targetId: keys.at(-1)!, changes })
        return after!
      }),
  }
}
