import { CheckFiguresRequest } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import type { Command } from 'commander'
import type { Connection } from '../connection'
import type { Output } from '../output'
import { addAction, parseId, retryWhileUnavailable } from './run'

/** The number of differences after which a check ends, because a rebuild is necessary anyway. */
const MAX_DIFFERENCES = 100

interface Options {
  account?: number
}

const ignoreDeleted = (error: unknown): undefined => {
  if (!(error instanceof ServiceError && error.code === 'not_found')) throw error
}

/** Does `work` for an account, or for all accounts that are not deleted meanwhile. Returns the results. */
const workOnAccounts = async <Result>(
  { accounts }: Connection,
  account: number | undefined,
  work: (accountId: number) => Promise<Result>,
): Promise<Result[]> => {
  if (account !== undefined) return [await work(account)]
  const results: Result[] = []
  for (const { id } of (await accounts.listAccounts({})).accounts) {
    const result = await work(id).catch(ignoreDeleted)
    if (result) results.push(result)
  }
  return results
}

/** The differences between the figures of an account and its leads. */
interface CheckedFigures extends Output {
  account: number
  checked_leads: number
  checked_days: number
  differing_leads: number[]
  differing_days: string[]
}

export const differs = ({ differing_leads, differing_days }: CheckedFigures): boolean =>
  differing_leads.length + differing_days.length > 0

/** Compares an account batch after batch. Returns the sums of the counts, and the differences. */
const checkAccount = async ({ figures }: Connection, accountId: number): Promise<CheckedFigures> => {
  const sums = { leads: 0, days: 0 }
  const differing = { leads: [] as number[], days: [] as string[] }
  let request = CheckFiguresRequest.fromPartial({ accountId })
  while (differing.leads.length + differing.days.length < MAX_DIFFERENCES) {
    const call = () => figures.checkFigures(request)
    const isFirst = sums.leads + sums.days === 0
    const batch = await (isFirst ? call() : retryWhileUnavailable(call))
    sums.leads += batch.leads
    sums.days += batch.days
    differing.leads.push(...batch.differingLeads)
    differing.days.push(...batch.differingDays)
    const { nextNumber: afterNumber, nextDay: afterDay } = batch
    if (afterNumber === undefined && afterDay === undefined) break
    request = { accountId, afterNumber, afterDay }
  }
  return {
    account: accountId,
    checked_leads: sums.leads,
    checked_days: sums.days,
    differing_leads: differing.leads,
    differing_days: differing.days,
  }
}

/** Compares the figures of an account, or of all accounts, with the leads. */
export const checkFigures = (connection: Connection, account?: number): Promise<CheckedFigures[]> =>
  workOnAccounts(connection, account, (accountId) => checkAccount(connection, accountId))

/** Returns the result for the account that the user chose, or the results for all accounts. */
const selectOutput = (results: Output[], account: number | undefined): Output | Output[] =>
  account === undefined ? results : results[0]!

/** Adds `leadwire figures …`. */
export const addFigures = (program: Command): void => {
  const figures = program.command('figures').description('check and rebuild the figures of accounts')

  addAction<Options>(
    figures
      .command('check')
      .description('compare the figures with the leads; exits with 1 if they differ')
      .option('--account <id>', 'check only this account', parseId),
    async (connection, { account }) => {
      const results = await checkFigures(connection, account)
      if (results.some(differs)) process.exitCode = 1
      return selectOutput(results, account)
    },
  )
  addAction<Options>(
    figures
      .command('rebuild')
      .description('count all leads again in the background; until the end, the figures are too low')
      .option('--account <id>', 'rebuild only this account', parseId),
    async (connection, { account }) => {
      const rebuild = async (accountId: number) => {
        await connection.figures.rebuildFigures({ accountId })
        return { account: accountId, state: 'rebuilding' }
      }
      return selectOutput(await workOnAccounts(connection, account, rebuild), account)
    },
  )
}
