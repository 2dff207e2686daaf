import { type Actor, snakeCase } from '@leadwire/contracts'
import {
  differences,
  type OpenTransaction,
  recordAudit,
  ServiceError,
  type Transaction,
  theRow,
  violatedConstraint,
} from '@leadwire/service-kit'
import { isId, validate } from '../arguments'
import type { Dependencies } from '../operation'
import { type Row, rowMapper } from './row-mapper'

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

/** Throws the error of an insert; not_found where its account is not there. */
export const throwFailure = (error: unknown): never => {
  if (violatedConstraint(error)?.endsWith('_account_id_fkey'))
    throw new ServiceError('not_found', 'There is no such account.')
  throw error
}

/** Reads and changes the records of a table that the management API shows, and logs each change in its transaction. */
export const managedRecords = <Message extends { id: number }, What extends string>(
  type: { fromPartial(fields: object): Message },
  table: string,
  what: What,
) => {
  /** The account's id and the record's. An account has only one. */
  type Ids = Record<'accountId' | `${What}Id`, number>
  const { columns, query } = rowMapper(type, table)
  const isAccount = what === 'account'
  const names: (keyof Ids)[] = isAccount ? ['accountId'] : ['accountId', `${what}Id`]
  const where = isAccount ? 'id = $1' : 'account_id = $1 AND id = $2'
  const shown = (message: Message, fields: Change<Message>['logged']) =>
    Object.fromEntries(fields.map((field) => [snakeCase(field), message[field]]))

  const retrieve = async (db: Transaction, ids: Ids, lock = ''): Promise<Message> => {
    validate(Object.fromEntries(names.map((name) => [snakeCase(name), isId(ids[name])])))
    const text = `SELECT ${columns} FROM ${table} WHERE ${where} ${lock}`
    return theRow(await query(db, { text, values: names.map((name) => ids[name]) }), what)
  }

  /** Changes a record, which it locks first. Throws not_found. */
  const change = (
    { database, actor }: Pick<Dependencies, 'database' | 'actor'>,
    ids: Ids,
    { action, logged, set, values = [], check }: Change<Message>,
  ): Promise<Message> =>
    database.transaction(async (tx) => {
      const before = await retrieve(tx, ids, 'FOR NO KEY UPDATE')
      await check?.(before, tx)
      const keys = names.map((name) => ids[name])
      const text = `UPDATE ${table} SET ${set} WHERE ${where} RETURNING ${columns}`
      const [after] = await query(tx, { text, values: [...keys, ...values] })
      const changes = differences(shown(before, logged), shown(after!, logged))
      if (Object.keys(changes).length > 0)
        recordAudit(tx, actor, { accountId: keys[0]!, action, targetId: keys.at(-1)!, changes })
      return after!
    })

  return {
    retrieve,
    change,
    /** The operation that makes a change which no field of the request decides. */
    changing: (fixed: Change<Message>) => async (deps: Dependencies, ids: Ids) =>
      ({ [what]: await change(deps, ids, fixed) }) as Record<What, Message>,
    list: (db: Transaction, condition: string, values: unknown[]): Promise<Message[]> =>
      query(db, { text: `SELECT ${columns} FROM ${table} WHERE ${condition} ORDER BY id`, values }),
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
      const changes = differences({}, shown(made!, logged))
      recordAudit(tx, actor, { ...target, action: `${what}.created`, changes })
      return made!
    },
  }
}
