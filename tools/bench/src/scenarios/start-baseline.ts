import type { Context } from '../context'
import { type Program, startProgram } from '../process/start-program'

export type Baseline = Program & { port: number }

/** Starts a baseline that serves HTTP; it is stopped when the run ends, if not before. */
export async function startBaseline(
  { ground }: Context,
  name: string,
  settings: object = {},
): Promise<Baseline> {
  const program = await startProgram(`baselines/${name}`, settings)
  const stop = ground.onLeave(program.stop)
  return { ...program, stop, port: (program.ready as { port: number }).port }
}

export const singleProcess = (context: Context): Promise<Baseline> =>
  startBaseline(context, 'single-process', {
    databaseUrl: context.leads.url,
    assetsUrl: context.stack.dev.assets_url,
  })
