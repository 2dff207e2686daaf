import { type Actor, snakeCase } from '@leadwire/contracts'
import {
  type Changes,
  differences,
  type OpenTransaction,
  recordAudit,
  ServiceError,
  type Transaction,
  theRow,
  violatedConstraint,
} from '@leadwire/service-kit'
import type { Dependencies } from '../operation'
import { firstPage } from './page'
import { type Row, rowMapper } from './row-mapper'

export interface Change<Message> {
  action: `${string}.${string}`
  /** The fields that the audit log shows. If none of these fields changes, nothing is logged. */
  logged: (keyof Message & string)[]
  /**
   * SQL assignments. Their first parameters are the id of the account and the id of the record. `values`
   * follow. If the record is an account, there is only one id.
   */
  set: string
  values?: unknown[]
  /** Throws if the record may not be changed. */
  check?: (before: Message, tx: OpenTransaction) => void | Promise<void>
}

/** A request for a page of records, in the order of their ids. */
export interface PageRequest {
  accountId: number
  /** Only records with ids above `after` are listed. */
  after?: number | undefined
  limit: number
}

/** Rethrows the error of an insert, or throws `not_found` if the account does not exist. */
export const throwFailure = (error: unknown): never => {
  if (violatedConstraint(error)?.endsWith('_account_id_fkey'))
    throw new ServiceError('not_found', 'There is no such account.')
  throw error
}

/**
 * Makes functions that read and change the records of one table for the management API. The transaction of
 * a change also records the change in the audit log.
 */
export const managedRecords = <Message extends { id: number }, What extends string>(
  type: { fromPartial(fields: object): Message },
  table: string,
  what: What,
  /** The audit log shows only that these fields have changed, because they may be erased later. */
  personal: (keyof Message & string)[] = [],
) => {
  /** The ids of the account and of the record. If the record is an account, only `accountId` is used. */
  type Ids = Record<'accountId' | `${What}Id`, number>
  const { columns, query } = rowMapper(type, table)
  const isAccount = what === 'account'
  const names: (keyof Ids)[] = isAccount ? ['accountId'] : ['accountId', `${what}Id`]
  const where = isAccount ? 'id = $1' : 'account_id = $1 AND id = $2'
  const shown = (message: Message, fields: Change<Message>['logged']) =>
    Object.fromEntries(fields.map((field) => [snakeCase(field), message[field]]))

  const compare = (before: Record<string, unknown>, after: Record<string, unknown>): Changes => {
    const changes = differences(before, after)
    for (const field of personal.map(snakeCase))
      if (field in changes) changes[field] = { from: null, to: null }
    return changes
  }

  const retrieve = async (db: Transaction, ids: Ids, lock = ''): Promise<Message> => {
    const text = `SELECT ${columns} FROM ${table} WHERE ${where} ${lock}`
    return theRow(await query(db, { text, values: names.map((name) => ids[name]) }), what)
  }

  /** Locks and returns a record. Throws `not_found` if there is no such record. */
  const lock = (tx: OpenTransaction, ids: Ids): Promise<Message> => retrieve(tx, ids, 'FOR NO KEY UPDATE')

  /** Locks a record and changes it. Throws `not_found` if there is no such record. */
  const change = (
    { database, actor }: Pick<Dependencies, 'database' | 'actor'>,
    ids: Ids,
    { action, logged, set, values = [], check }: Change<Message>,
  ): Promise<Message> =>
    database.transaction(async (tx) => {
      const before = await lock(tx, ids)
      await check?.(before, tx)
      const keys = names.map((name) => ids[name])
      const text = `UPDATE ${table} SET ${set} WHERE ${where} RETURNING ${columns}`
      const [after] = await query(tx, { text, values: [...keys, ...values] })
      const changes = compare(shown(before, logged), shown(after!, logged))
      if (Object.keys(changes).length > 0)
        recordAudit(tx, actor, { accountId: keys[0]!, action, targetId: keys.at(-1)!, changes })
      return after!
    })

  return {
    retrieve,
    lock,
    change,
    /** Makes an operation whose change does not depend on the request. */
    changing: (fixed: Change<Message>) => async (deps: Dependencies, ids: Ids) =>
      ({ [what]: await change(deps, ids, fixed) }) as Record<What, Message>,
    list: (db: Transaction, condition: string, values: unknown[]): Promise<Message[]> =>
      query(db, { text: `SELECT ${columns} FROM ${table} WHERE ${condition} ORDER BY id`, values }),
    /** Returns a page of an account's records that meet a condition, and the `after` of the next page. */
    listPage: async (
      db: Transaction,
      condition: string,
      { accountId, after = 0, limit }: PageRequest,
    ): Promise<{ records: Message[]; nextAfter: number | undefined }> => {
      // With `account_id = $1`, PostgreSQL may read the ids of all accounts. This comparison of rows makes
      // PostgreSQL use the index on (account_id, id).
      const place = '(account_id, id) > ($1, $2) AND account_id <= $1'
      const text = `SELECT ${columns} FROM ${table}
        WHERE ${place} AND ${condition} ORDER BY account_id, id LIMIT $3`
      // Reads one record more than the page has, to find out whether another page follows.
      const records = await query(db, { text, values: [accountId, after, limit + 1] })
      const { shown, last } = firstPage(records, limit)
      return { records: shown, nextAfter: last?.id }
    },
    insert: async (
      tx: OpenTransaction,
      actor: Actor | undefined,
      row: Row & { account_id?: number },
      logged: Change<Message>['logged'],
    ): Promise<Message> => {
      const places = Object.keys(row).map((_, index) => `$${index + 1}`)
      const text = `INSERT INTO ${table} (${Object.keys(row)}) VALUES (${places}) RETURNING ${columns}`
      const [made] = await query(tx, { text, values: Object.values(row) })
      const { id } = made!
      const target = { accountId: row.account_id ?? id, targetId: id }
      const changes = compare({}, shown(made!, logged))
      recordAudit(tx, actor, { ...target, action: `${what}.created`, changes })
      return made!
    },
  }
}
