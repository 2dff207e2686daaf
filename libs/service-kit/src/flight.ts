import type { Socket } from 'node:net'
import type { Client, DatabaseError, FieldDef, Submittable } from 'pg'
// @ts-expect-error pg tells no types of it.
import { prepareValue as untyped } from 'pg/lib/utils'

const prepareValue: (value: unknown) => string | Buffer | null = untyped

/** A statement; with a `name` it is prepared once per connection. */
export interface Query {
  name?: string
  text: string
  values?: unknown[]
}

/** The reading side of a column: its name, and what makes a value of its text. */
interface Column {
  name: string
  parse: (text: string) => unknown
}

export type ParserOf = (typeId: number) => (text: string) => unknown

/** What pg's connection can write (PostgreSQL manual, "Extended Query"). */
interface Wire {
  stream: Socket
  parse(statement: { name: string; text: string }): void
  bind(statement: { statement: string; values: unknown[] }): void
  describe(portal: { type: 'P' }): void
  execute(portal: object): void
  close(statement: { type: 'S'; name: string }): void
  sync(): void
}

/** Once told, the columns of a prepared statement never change: PostgreSQL would refuse to run it. */
interface Prepared {
  text: string
  columns: Column[] | undefined
}

// What a connection in this state is asked next fails in the same way: a plan whose table changed its shape (0A000), a
// server that became a standby (25006), a statement that the server no longer knows (26000).
const UNUSABLE_STATES = new Set(['0A000', '25006', '26000'])

const preparedOn = new WeakMap<Client, Map<string, Prepared>>()

const preparedOf = (client: Client) => {
  const known = preparedOn.get(client) ?? new Map<string, Prepared>()
  preparedOn.set(client, known)
  return known
}

const mustBeSame = ({ name, text }: Query, known: Prepared | undefined) => {
  if (known && known.text !== text) throw new Error(`two statements are named ${name}`)
}

const rowOf = (columns: Column[], fields: (string | null)[]) => {
  const row: Record<string, unknown> = {}
  for (let index = 0; index < columns.length; index += 1) {
    const { name, parse } = columns[index]!
    const text = fields[index]!
    row[name] = text === null ? null : parse(text)
  }
  return row
}

/**
 * Has statements done one after the other in one flight: they leave in one write, PostgreSQL answers in one, and each
 * side wakes once. pg would ask for an answer to each statement, and a message that wakes a process costs both sides
 * more than a small statement does. Resolves with the rows of one of them: of the last, unless `askedAt` is another's index.
 *
 * Rejects with the first error; the statements behind it are not done. Whatever can't be sent is told before anything is.
 * An answer that has not come after `limitMs` never will: the connection is cut, and so is one that will fail again.
 */
export const fly = async <Row extends object>(
  client: Client,
  statements: Query[],
  {
    parserOf,
    limitMs,
    askedAt = statements.length - 1,
  }: { parserOf: ParserOf; limitMs: number; askedAt?: number | undefined },
): Promise<Row[]> => {
  const known = preparedOf(client)
  const bound = statements.map(({ name = '', text, values = [] }) => {
    mustBeSame({ name, text }, known.get(name))
    return { name, text, values: values.map((value) => prepareValue(value)) }
  })
  const asked = bound[askedAt]!
  const described = known.get(asked.name)?.columns
  let columns = described ?? []
  const rows: object[] = []
  let done = 0
  let limit: NodeJS.Timeout | undefined
  let socket: Socket | undefined

  const submit = (wire: Wire) => {
    socket = wire.stream
    limit = setTimeout(() => wire.stream.destroy(new Error('Connection terminated: no answer came')), limitMs)
    wire.stream.cork()
    for (const statement of bound) {
      const { name, text, values } = statement
      if (!known.has(name)) {
        // It may be there, of a flight that failed behind it. Closing what is not there is no error.
        wire.close({ type: 'S', name })
        wire.parse({ name, text })
      }
      wire.bind({ statement: name, values })
      if (statement === asked && !described) wire.describe({ type: 'P' })
      wire.execute({})
    }
    wire.sync()
    wire.stream.uncork()
  }

  return new Promise((resolve, reject) => {
    let failed = false
    const flight = {
      submit,
      handleRowDescription: ({ fields }: { fields: FieldDef[] }) => {
        columns = fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) }))
      },
      handleDataRow: ({ fields }: { fields: (string | null)[] }) => {
        if (done !== askedAt) return
        // What is thrown in here nobody catches: pg calls it from its socket.
        try {
          rows.push(rowOf(columns, fields))
        } catch (error) {
          failed = true
          reject(error)
        }
      },
      handleCommandComplete: () => {
        done += 1
      },
      handleEmptyQuery: () => {
        done += 1
      },
      handlePortalSuspended: () => undefined,
      handleError: (error: Error | DatabaseError) => {
        clearTimeout(limit)
        if (failed) return
        failed = true
        if (!socket || !UNUSABLE_STATES.has((error as DatabaseError).code ?? '')) return reject(error)
        // Told only when the pool knows: the next statement may come at once and must not get this connection.
        socket.once('close', () => setImmediate(reject, error))
        socket.destroy()
      },
      handleReadyForQuery: () => {
        clearTimeout(limit)
        if (failed) return
        for (const statement of bound) {
          const { name, text } = statement
          if (statement === asked && name !== '') known.set(name, { text, columns })
          else if (name !== '' && !known.has(name)) known.set(name, { text, columns: undefined })
        }
        resolve(rows as Row[])
      },
    }
    client.query(flight as unknown as Submittable)
  })
}
