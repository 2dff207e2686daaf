import { CheckFiguresRequest } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import type { Command } from 'commander'
import type { Connection } from '../connection'
import type { Output } from '../output'
import { addAction, parseId } from './run'

/** The number of differences after which a check ends, because a rebuild is necessary anyway. */
const MAX_DIFFERENCES = 100

interface Options {
  account?: number
}

const ignoreDeleted = (error: unknown): undefined => {
  if (!(error instanceof ServiceError && error.code === 'not_found')) throw error
}

/**
 * Does `work` for an account and returns its result, or does `work` for all accounts and returns a list.
 * Leaves out accounts that are deleted meanwhile.
 */
const workOnAccounts = async (
  { accounts }: Connection,
  account: number | undefined,
  work: (accountId: number) => Promise<Output>,
): Promise<Output | Output[]> => {
  if (account !== undefined) return work(account)
  const results: Output[] = []
  for (const { id } of (await accounts.listAccounts({})).accounts) {
    const result = await work(id).catch(ignoreDeleted)
    if (result) results.push(result)
  }
  return results
}

/** Compares an account batch after batch. Returns the sums of the counts, and the differences. */
const checkAccount = async ({ figures }: Connection, accountId: number): Promise<Output> => {
  const sums = { leads: 0, days: 0 }
  const differing = { leads: [] as number[], days: [] as string[] }
  let request = CheckFiguresRequest.fromPartial({ accountId })
  while (differing.leads.length + differing.days.length < MAX_DIFFERENCES) {
    const batch = await figures.checkFigures(request)
    sums.leads += batch.leads
    sums.days += batch.days
    differing.leads.push(...batch.differingLeads)
    differing.days.push(...batch.differingDays)
    const { nextNumber: afterNumber, nextDay: afterDay } = batch
    if (afterNumber === undefined && afterDay === undefined) break
    request = { accountId, afterNumber, afterDay }
  }
  if (differing.leads.length + differing.days.length > 0) process.exitCode = 1
  return {
    account: accountId,
    checked_leads: sums.leads,
    checked_days: sums.days,
    differing_leads: differing.leads,
    differing_days: differing.days,
  }
}

/** Adds `leadwire figures …`. */
export const addFigures = (program: Command): void => {
  const figures = program.command('figures').description('check and rebuild the figures of accounts')

  addAction<Options>(
    figures
      .command('check')
      .description('compare the figures with the leads; exits with 1 if they differ')
      .option('--account <id>', 'check only this account', parseId),
    (connection, { account }) =>
      workOnAccounts(connection, account, (accountId) => checkAccount(connection, accountId)),
  )
  addAction<Options>(
    figures
      .command('rebuild')
      .description('count all leads again in the background; until the end, the figures are too low')
      .option('--account <id>', 'rebuild only this account', parseId),
    (connection, { account }) =>
      workOnAccounts(connection, account, async (accountId) => {
        await connection.figures.rebuildFigures({ accountId })
        return { account: accountId, state: 'rebuilding' }
      }),
  )
}
