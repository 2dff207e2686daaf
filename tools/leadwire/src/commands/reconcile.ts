import type { ReconcileCursor } from '@leadwire/contracts'
import type { Command } from 'commander'
import type { Connection } from '../connection'
import { type Output, render } from '../output'
import { checkFigures, differs } from './figures'
import { addAction, parseId, requireAccount, retryWhileUnavailable } from './run'

interface Options {
  account?: number
  full: boolean
  json: boolean
}

/** Checks batch after batch to the end. Resolves to the sums of the counts. */
const reconcileAll = async ({ reconciliation }: Connection, { account: accountId, full }: Options) => {
  const sums: Record<string, number> = {}
  let cursor: ReconcileCursor | undefined
  do {
    const call = () => reconciliation.reconcile({ accountId, full, cursor })
    const batch = await (cursor ? retryWhileUnavailable(call) : call())
    for (const [name, count] of Object.entries(batch.counts!)) sums[name] = (sums[name] ?? 0) + count
    cursor = batch.cursor
  } while (cursor)
  return sums
}

const toSnakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const renderRecord = (record: object): Output =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [toSnakeCase(name), value ?? null]))

/** Adds `leadwire reconcile`. */
export const addReconcile = (program: Command): void => {
  addAction<Options>(
    program
      .command('reconcile')
      .description(
        'check that every lead has its event and every event its deliveries; exits with 1 if there are problems',
      )
      .option('--account <id>', 'check only this account', parseId)
      .option('--full', 'check all leads, events and figures, not only leads since the last check', false),
    async (connection, options) => {
      if (options.account !== undefined) await requireAccount(connection, options.account)
      const sums = await reconcileAll(connection, options)
      const { unexplainedCount, unexplained } = await connection.reconciliation.retrieveReconciliation({
        accountId: options.account,
      })
      const figures = options.full ? await checkFigures(connection, options.account) : []
      const wrongFigures = figures.filter(differs)
      if (unexplainedCount > 0 || wrongFigures.length > 0) process.exitCode = 1
      const violations = unexplained.map(renderRecord)
      const result: Output = { ...renderRecord(sums), unexplained_count: unexplainedCount }
      if (options.json) return { ...result, unexplained: violations, wrong_figures: wrongFigures }
      const tables = [violations, wrongFigures].filter(({ length }) => length > 0)
      const list = tables.map((table) => `\n\n${render(table, options)}`).join('')
      const leads = options.full
        ? result['leads']
        : `${result['leads']} since the last check (--full checks all)`
      return `${render({ ...result, leads }, options)}${list}`
    },
  )
}
