import type { ReconcileCursor } from '@leadwire/contracts'
import { ServiceError, untilSuccess } from '@leadwire/service-kit'
import type { Command } from 'commander'
import type { Connection } from '../connection'
import { type Output, render } from '../output'
import { does, id, theAccount } from './run'

/** A rolling restart may come in the middle of the hours that all events of ten million leads take. */
const UNAVAILABLE_AT_MOST_MS = 30_000

interface Options {
  account?: number
  full: boolean
  json: boolean
}

const whenAvailable = <T>(ask: () => Promise<T>): Promise<T> => {
  const until = Date.now() + UNAVAILABLE_AT_MOST_MS
  const onFailure = (error: unknown) => {
    if (!(error instanceof ServiceError && error.code === 'unavailable') || Date.now() > until) throw error
  }
  return untilSuccess(ask, { signal: new AbortController().signal, pauseMs: 250, onFailure })
}

/** Checks batch by batch to the end. Resolves with what was counted. */
const reconcileAll = async ({ reconciliation }: Connection, { account: accountId, full }: Options) => {
  const sums: Record<string, number> = {}
  let cursor: ReconcileCursor | undefined
  do {
    const ask = () => reconciliation.reconcile({ accountId, full, cursor })
    const batch = await (cursor ? whenAvailable(ask) : ask())
    for (const [name, count] of Object.entries(batch.counts!)) sums[name] = (sums[name] ?? 0) + count
    cursor = batch.cursor
  } while (cursor)
  return sums
}

const inSnakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const outputOf = (record: object): Output =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [inSnakeCase(name), value ?? null]))

/** `leadwire reconcile` */
export const addReconcile = (program: Command): void => {
  does<Options>(
    program
      .command('reconcile')
      .description('prove that every lead has its event and every event its deliveries; exit 1 when not')
      .option('--account <id>', 'of this account alone', id)
      .option('--full', 'all leads and events, instead of what is new since the last check', false),
    async (connection, options) => {
      if (options.account !== undefined) await theAccount(connection, options.account)
      const sums = await reconcileAll(connection, options)
      const { unexplainedCount, unexplained } = await connection.reconciliation.retrieveReconciliation({
        accountId: options.account,
      })
      if (unexplainedCount > 0) process.exitCode = 1
      const violations = unexplained.map(outputOf)
      const result: Output = { ...outputOf(sums), unexplained_count: unexplainedCount }
      if (options.json) return { ...result, unexplained: violations }
      const list = violations.length > 0 ? `\n\n${render(violations, options)}` : ''
      const leads = options.full
        ? result['leads']
        : `${result['leads']} since the last check (--full checks all)`
      return `${render({ ...result, leads }, options)}${list}`
    },
  )
}
