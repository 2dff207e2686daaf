import { isDeepStrictEqual } from 'node:util'
import type { Context } from '../context'
import type { HttpRequest } from '../load/http-request'
import { type Program, startProgram } from '../process/start-program'
import { sendRequest } from './requests'

export type Baseline = Program & { port: number }

/** Starts a baseline that serves HTTP. If the caller does not stop the baseline, the end of the run does. */
export const startBaseline = async (
  { cleanups }: Context,
  name: string,
  settings: object,
): Promise<Baseline> => {
  const program = await startProgram(`baselines/${name}`, settings)
  const { port } = program.ready as { port: number }
  return { ...program, port, stop: cleanups.add(program.stop) }
}

export const startSingleProcess = (context: Context): Promise<Baseline> => {
  const { stack } = context
  return startBaseline(context, 'single-process', {
    databaseUrl: stack.databaseUrl('leads'),
    assetsUrl: stack.dev.assets_url,
  })
}

/** Throws if the baseline's response differs from the stack's: then the two would not do the same work. */
export const requireSameResponse = async (
  request: HttpRequest,
  port: number,
  baselinePort: number,
): Promise<void> => {
  const ours = await readWithoutAddresses(request, port)
  const baseline = await readWithoutAddresses(request, baselinePort)
  if (isDeepStrictEqual(ours, baseline)) return
  const responses = `${JSON.stringify(ours)}\n${JSON.stringify(baseline)}`
  throw new Error(`the baseline responds to ${request.path} differently:\n${responses}`)
}

const readWithoutAddresses = async (request: HttpRequest, port: number) => {
  const response = Object.entries(await sendRequest<Record<string, unknown>>(port, request))
  return Object.fromEntries(response.filter(([name]) => name !== 'path' && !name.endsWith('_page_url')))
}
