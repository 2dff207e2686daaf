import { CheckFiguresRequest } from '@leadwire/contracts'
import type { Command } from 'commander'
import type { Connection } from '../connection'
import { addAction, parseId } from './run'

/** The number of differences after which a check ends, because a rebuild is necessary anyway. */
const MAX_DIFFERENCES = 100

interface Options {
  account: number
}

/** Compares batch after batch. Returns the sums of the counts, and the differences that were found. */
const checkAll = async ({ figures }: Connection, accountId: number) => {
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
  return { sums, differing }
}

/** Adds `leadwire figures …`. */
export const addFigures = (program: Command): void => {
  const figures = program.command('figures').description('check and rebuild the figures of an account')

  addAction<Options>(
    figures
      .command('check')
      .description('compare the figures with the leads; exits with 1 if they differ')
      .requiredOption('--account <id>', 'the account', parseId),
    async (connection, { account }) => {
      const { sums, differing } = await checkAll(connection, account)
      if (differing.leads.length + differing.days.length > 0) process.exitCode = 1
      return {
        checked_leads: sums.leads,
        checked_days: sums.days,
        differing_leads: differing.leads,
        differing_days: differing.days,
      }
    },
  )
  addAction<Options>(
    figures
      .command('rebuild')
      .description('count all leads again in the background; until the end, the figures are too low')
      .requiredOption('--account <id>', 'the account', parseId),
    async (connection, { account }) => {
      await connection.figures.rebuildFigures({ accountId: account })
      return { account, state: 'rebuilding' }
    },
  )
}
