import { isDeepStrictEqual } from 'node:util'
import type { Request } from 'autocannon'
import type { Context } from '../context'
import { type Program, startProgram } from '../process/start-program'
import { ask } from './requests'

export type Baseline = Program & { port: number }

/** Starts a baseline that serves HTTP; it is stopped when the run ends, if not before. */
export const startBaseline = async (
  { ground }: Pick<Context, 'ground'>,
  name: string,
  settings: object = {},
): Promise<Baseline> => {
  const program = await startProgram(`baselines/${name}`, settings)
  return {
    ...program,
    stop: ground.onLeave(program.stop),
    port: (program.ready as { port: number }).port,
  }
}

/** The parts of a lead and its webhook in one process: answer, JetStream publish, consumer, one insert, POST. */
export const startBareChain = ({ ground, stack, receiver }: Context): Promise<Baseline> =>
  startBaseline({ ground }, 'bare-chain', {
    databaseUrl: stack.database('webhooks'),
    natsUrl: stack.dev.nats_url,
    receiverPort: receiver.port,
  })

/** Makes sure that a baseline does the same work: its answer must be ours, page addresses aside. */
export const requireSameAnswer = async (request: Request, ours: number, baseline: number): Promise<void> => {
  const [one, other] = await Promise.all([ours, baseline].map((port) => withoutAddresses(request, port)))
  if (!isDeepStrictEqual(one, other))
    throw new Error(
      `the baseline answers ${request.path} otherwise:\n${JSON.stringify(one)}\n${JSON.stringify(other)}`,
    )
}

const withoutAddresses = async (request: Request, port: number) => {
  const answer = Object.entries(await ask<Record<string, unknown>>(port, request))
  return Object.fromEntries(answer.filter(([name]) => name !== 'path' && !name.endsWith('_page_url')))
}
