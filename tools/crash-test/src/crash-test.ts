import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { poll, repositoryRoot } from '@leadwire/embedded'
import { type Chance, chanceOf } from './chance'
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

/** Short pauses: what is retried is retried in this run. */
const SETTINGS = {
  WEBHOOK_RETRY_SCHEDULE: '1s,2s,4s,8s,16s',
  WEBHOOK_TIMEOUT: `${TIMEOUT_MS}ms`,
  RECONCILE_INTERVAL: '5s',
}

/** What `leadwire reconcile --full --json` printed. */
export type Reconciled = Record<string, unknown> & { unexplained_count: number; unexplained: unknown[] }

export interface Report {
  seed: number
  minutes: number
  startedAt: string
  hazards: Hazard[]
  /** Answers to creates that were none, by status; 0: no answer. */
  failures: Record<string, number>
  verdict: Verdict
  files: { stored: number; lost: string[] }
  reconciled: Reconciled
  /** What must not be, in words; empty: nothing. */
  errors: string[]
}

const reconcile = async ({ cli }: Ground): Promise<Reconciled> => {
  const main = join(repositoryRoot, 'tools/leadwire/dist/main.js')
  const env = { ...process.env, ...cli }
  const args = [main, 'reconcile', '--full', '--json']
  const { stdout, stderr } = await new Promise<{ stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, args, { env }, (_error, stdout, stderr) => resolve({ stdout, stderr }))
  })
  if (stdout === '') throw new Error(`leadwire reconcile: ${stderr}`)
  return JSON.parse(stdout)
}

const errorsOf = ({
  verdict,
  files,
  reconciled,
}: Pick<Report, 'verdict' | 'files' | 'reconciled'>): string[] => {
  const unexplained = (repetitions: Verdict['duplicates']) =>
    repetitions.filter(({ because }) => because === null)
  const counts: [count: number, what: string][] = [
    [verdict.accepted === 0 ? 1 : 0, 'load that no lead came of'],
    [verdict.leadsLost.length, 'leads lost'],
    [verdict.leadsTwice.length, 'leads created without a response'],
    [verdict.eventsLost.length, 'events lost'],
    [verdict.webhooksLost.length, 'webhooks lost'],
    [files.stored === 0 ? 1 : 0, 'load that no file came of'],
    [files.lost.length, 'files lost'],
    [unexplained(verdict.duplicates).length, 'duplicates without an explanation'],
    [unexplained(verdict.unrecorded).length, 'attempts that are not recorded, without an explanation'],
    [verdict.attemptsWrong.length, 'deliveries whose record of attempts is wrong'],
    [verdict.numbersWrong.length, 'events whose number is wrong'],
    [reconciled.unexplained_count, 'findings of leadwire reconcile'],
  ]
  return counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`)
}

const registerEndpoint = async ({ base, token }: Ground, url: string): Promise<void> => {
  const answer = await fetch(`${base}/manage/webhook-endpoints`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url }),
  })
  if (answer.status !== 200) throw new Error(`the endpoint was not registered: ${await answer.text()}`)
}

type Receiver = Awaited<ReturnType<typeof startReceiver>>

/** Does harm for a time. Resolves with what was done, when all is ready again. */
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
    hazards = await harm({ chance: chanceOf(seed), deadline, say })
  } finally {
    await load.stop()
  }
  say(
    `${hazards.length} kills, freezes and losses, ${load.accepted.length} leads accepted; waiting until all is quiet`,
  )
  const quiet = { what: 'all deliveries to end', timeoutMs: QUIET_WITHIN_MS, everyMs: 500 }
  await poll(() => isQuiet(ground), quiet).catch((error: Error) => say(error.message))
  const records = await readRecords(ground)
  const reconciled = await reconcile(ground)
  const verdict = compare({ accepted: load.accepted, records, arrivalsOf: receiver.arrivalsOf, hazards })
  const files = { stored: load.files.length, lost: await findLostFiles(ground, load.files) }
  return {
    ...{ seed, minutes, startedAt: startedAt.toISOString(), hazards },
    failures: Object.fromEntries(load.failures),
    ...{ verdict, files, reconciled, errors: errorsOf({ verdict, files, reconciled }) },
  }
}

type Settings = Omit<Options, 'out'> & { say: (line: string) => void }

const open = async ({ machines, asynchronous }: Settings): Promise<{ ground: Ground; harm: Harm }> => {
  if (machines) {
    const started = await startMachines({ env: SETTINGS, asynchronous })
    return { ground: started.ground, harm: (options) => loseMachines(started, options) }
  }
  const stack = await startStack(SETTINGS)
  return { ground: stack.ground, harm: (options) => runHazards(stack, options) }
}

/**
 * Runs a stack of its own under load while its processes are killed and frozen, or its machines lost, and says what became of each lead and webhook.
 * Leaves nothing behind. Throws when the stack does not start, or does not come back.
 */
export const crashTest = async (settings: Settings): Promise<Report> => {
  const chance = chanceOf(settings.seed + 1)
  const receiver = await startReceiver({ chance, lateMs: TIMEOUT_MS + 500 })
  try {
    const { ground, harm } = await open(settings)
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
