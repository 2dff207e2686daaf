import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { poll, repositoryRoot } from '@leadwire/embedded'
import { type Chance, createChance } from './chance'
import { compare, type Verdict } from './compare'
import type { Ground } from './ground'
import { type Hazard, runHazards } from './hazards'
import { findLostFiles, startLoad } from './load'
import { loseMachines } from './machines/lose-machines'
import { startMachines } from './machines/start-machines'
import type { Options } from './options'
import { startReceiver } from './receiver'
import { isQuiet, readRecords } from './records'
import { startStack } from './start-stack'

const TIMEOUT_MS = 3000
const QUIET_WITHIN_MS = 180_000
const COUNTED_WITHIN_MS = 60_000

/** The pauses between retries are short, so that all retries happen during the run. */
const SETTINGS = {
  WEBHOOK_RETRY_SCHEDULE: '1s,2s,4s,8s,16s',
  WEBHOOK_TIMEOUT: `${TIMEOUT_MS}ms`,
  RECONCILE_INTERVAL: '5s',
}

/** The output of `leadwire reconcile --full --json`. */
export type Reconciled = Record<string, unknown> & { unexplained_count: number; unexplained: unknown[] }

/** The output of `leadwire figures check --json`. */
export interface CheckedFigures {
  checked_leads: number
  differing_leads: number[]
  differing_days: string[]
}

export interface Report {
  seed: number
  minutes: number
  startedAt: string
  hazards: Hazard[]
  /** The number of failed requests by status. 0 means that there was no response. */
  failures: Record<string, number>
  verdict: Verdict
  files: { stored: number; lost: string[] }
  reconciled: Reconciled
  figures: CheckedFigures
  /** Descriptions of everything that is wrong. Empty if the test passed. */
  errors: string[]
}

/** Runs a command of `leadwire` and returns its JSON. */
const runLeadwire = async <Output>({ cli }: Ground, ...command: string[]): Promise<Output> => {
  const main = join(repositoryRoot, 'tools/leadwire/dist/main.js')
  const env = { ...process.env, ...cli }
  const args = [main, ...command, '--json']
  const { stdout, stderr } = await new Promise<{ stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, args, { env }, (_error, stdout, stderr) => resolve({ stdout, stderr }))
  })
  if (stdout === '') throw new Error(`leadwire ${command.join(' ')}: ${stderr}`)
  return JSON.parse(stdout)
}

const areFiguresCurrent = async ({ base, token }: Ground): Promise<boolean> => {
  const response = await fetch(`${base}/manage/figures`, { headers: { authorization: `Bearer ${token}` } })
  if (response.status !== 200) throw new Error(`the figures can't be read: ${await response.text()}`)
  const { is_current } = (await response.json()) as { is_current: boolean }
  return is_current
}

/** Waits until all leads are counted, and compares the figures with the leads. */
const checkFigures = async (ground: Ground): Promise<CheckedFigures> => {
  const counted = { what: 'all leads to be counted', timeoutMs: COUNTED_WITHIN_MS, everyMs: 500 }
  await poll(() => areFiguresCurrent(ground), counted)
  return runLeadwire(ground, 'figures', 'check', '--account', String(ground.accountId))
}

const listErrors = ({
  verdict,
  files,
  reconciled,
  figures,
}: Pick<Report, 'verdict' | 'files' | 'reconciled' | 'figures'>): string[] => {
  const countUnexplained = (anomalies: Verdict['duplicates']) =>
    anomalies.filter(({ because }) => because === null).length
  const counts: [count: number, what: string][] = [
    [verdict.leadsLost.length, 'leads lost'],
    [verdict.leadsWithoutResponse.length, 'leads created without a response'],
    [verdict.eventsLost.length, 'events lost'],
    [verdict.webhooksLost.length, 'webhooks lost'],
    [files.lost.length, 'files lost'],
    [countUnexplained(verdict.duplicates), 'duplicates without an explanation'],
    [countUnexplained(verdict.unrecorded), 'unrecorded attempts without an explanation'],
    [verdict.attemptsWrong.length, 'deliveries with wrong records of attempts'],
    [verdict.numbersWrong.length, 'events with a wrong number'],
    [reconciled.unexplained_count, 'findings of leadwire reconcile'],
    [figures.differing_leads.length, 'leads with wrong figures'],
    [figures.differing_days.length, 'days with wrong figures'],
  ]
  const errors = counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`)
  if (verdict.accepted === 0) errors.push('the load created no lead')
  if (figures.checked_leads === 0) errors.push('no lead was counted')
  if (files.stored === 0) errors.push('the load stored no file')
  return errors
}

const registerEndpoint = async ({ base, token }: Ground, url: string): Promise<void> => {
  const response = await fetch(`${base}/manage/webhook-endpoints`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url }),
  })
  if (response.status !== 200) throw new Error(`the endpoint was not registered: ${await response.text()}`)
}

type Receiver = Awaited<ReturnType<typeof startReceiver>>

/** Disturbs the stack until the deadline, and waits until everything is ready again. Returns the hazards. */
type Harm = (options: { chance: Chance; deadline: number; say: (line: string) => void }) => Promise<Hazard[]>

const run = async (
  ground: Ground,
  harm: Harm,
  receiver: Receiver,
  { seed, minutes, say }: Settings,
): Promise<Report> => {
  await registerEndpoint(ground, receiver.url)
  const startedAt = new Date()
  const load = startLoad(ground)
  const deadline = startedAt.getTime() + minutes * 60_000
  let hazards: Hazard[]
  try {
    hazards = await harm({ chance: createChance(seed), deadline, say })
  } finally {
    await load.stop()
  }
  say(`${hazards.length} kills, freezes and losses, ${load.accepted.length} leads accepted`)
  say('waiting until all events are published and no delivery is pending')
  const quiet = { what: 'all deliveries to end', timeoutMs: QUIET_WITHIN_MS, everyMs: 500 }
  await poll(() => isQuiet(ground), quiet).catch((error: Error) => say(error.message))
  const records = await readRecords(ground)
  const reconciled = await runLeadwire<Reconciled>(ground, 'reconcile', '--full')
  const figures = await checkFigures(ground)
  const { listArrivals } = receiver
  const verdict = compare({ accepted: load.accepted, records, listArrivals, hazards })
  const files = { stored: load.files.length, lost: await findLostFiles(ground, load.files) }
  return {
    seed,
    minutes,
    startedAt: startedAt.toISOString(),
    hazards,
    failures: Object.fromEntries(load.failures),
    verdict,
    files,
    reconciled,
    figures,
    errors: listErrors({ verdict, files, reconciled, figures }),
  }
}

type Settings = Omit<Options, 'out'> & { say: (line: string) => void }

const startGround = async ({ machines, asynchronous }: Settings): Promise<{ ground: Ground; harm: Harm }> => {
  if (machines) {
    const started = await startMachines({ env: SETTINGS, asynchronous })
    return { ground: started.ground, harm: (options) => loseMachines(started, options) }
  }
  const stack = await startStack(SETTINGS)
  return { ground: stack.ground, harm: (options) => runHazards(stack, options) }
}

/**
 * Starts a stack and loads it while processes are killed and frozen, or machines are lost. Then checks each
 * lead, event, webhook and file. Stops and removes the stack at the end.
 * @throws an error if the stack does not start, or is not ready again in time after a hazard
 */
export const crashTest = async (settings: Settings): Promise<Report> => {
  const chance = createChance(settings.seed + 1)
  const receiver = await startReceiver({ chance, lateMs: TIMEOUT_MS + 500 })
  try {
    const { ground, harm } = await startGround(settings)
    try {
      return await run(ground, harm, receiver, settings)
    } catch (error) {
      throw new Error([error instanceof Error ? error.message : error, ...ground.lastLines].join('\n  '))
    } finally {
      await ground.stop()
    }
  } finally {
    await receiver.stop()
  }
}
