import { type Context, createContext, type Run } from './context'
import { describeLoadAverage, describeMachine } from './measure/machine'
import { type ScenarioName, scenarioNames } from './options'
import { measureBystander } from './scenarios/bystander'
import { measureColdStart } from './scenarios/cold-start'
import { measureFind } from './scenarios/find'
import { measureIsolation } from './scenarios/isolation'
import { measureMemory } from './scenarios/memory'
import { measureOverload } from './scenarios/overload'
import { measureCreate, measureList, measureRetrieve } from './scenarios/retrieve-list-create'
import { measureSteady } from './scenarios/steady'
import { measureSustained } from './scenarios/sustained'
import { measureUpload } from './scenarios/upload'
import { measureWebhookLatency } from './scenarios/webhook-latency'
import { measureWebhooks } from './scenarios/webhooks'

/** The scenarios that use a running stack. */
const scenarios: Record<Exclude<ScenarioName, 'cold-start'>, (context: Context) => Promise<void>> = {
  retrieve: measureRetrieve,
  list: measureList,
  create: measureCreate,
  sustained: measureSustained,
  upload: measureUpload,
  webhooks: measureWebhooks,
  'webhook-latency': measureWebhookLatency,
  steady: measureSteady,
  find: measureFind,
  isolation: measureIsolation,
  memory: measureMemory,
  overload: measureOverload,
  bystander: measureBystander,
}

/**
 * Runs the scenarios of the options. Returns lines that describe the hardware and the settings. The caller
 * runs the cleanups, which stop everything that this function starts.
 */
export const runBench = async ({
  print,
  ...run
}: Run & { print: (line: string) => void }): Promise<string[]> => {
  const { options, cleanups, report } = run
  if (process.platform !== 'linux')
    throw new Error('The benchmark reads processor time and memory from /proc. Run it on Linux.')
  const loadAverage = describeLoadAverage()
  const startedAt = performance.now()
  const announce = (name: string) =>
    print(`${name} (at ${Math.round((performance.now() - startedAt) / 1000)} s)`)
  if (options.only.has('cold-start')) {
    announce('cold-start')
    await measureColdStart(run)
  }
  const context = await createContext(run)
  for (const name of scenarioNames) {
    if (name === 'cold-start' || !options.only.has(name)) continue
    announce(name)
    try {
      await scenarios[name](context)
    } catch (error) {
      // If the cleanups have started, a signal has stopped the stack, so the scenario itself did not fail.
      if (cleanups.haveStarted()) throw error
      // The failure of one scenario does not stop the others.
      report.addFailure(name, error as Error)
      print(`The stack's last warnings:\n${context.stack.lastWarnings.join('\n')}`)
    }
  }
  announce('done')
  return [...(await describeMachine(context.leads)), loadAverage]
}
