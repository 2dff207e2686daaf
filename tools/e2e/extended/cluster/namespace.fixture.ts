import { join } from 'node:path'
import { HELM } from '../chart/render.fixture'
import { type Cluster, run } from './cluster.fixture'

/** Creates a namespace that enforces the restricted profile, with the Secrets that the chart needs. */
export async function makeNamespace({ kubectl }: Cluster, name: string): Promise<void> {
  await kubectl(['create', 'namespace', name])
  const labels = ['enforce', 'warn'].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`)
  await kubectl(['label', 'namespace', name, ...labels])
  const { stdout: secrets } = await run(join(HELM, 'make-secrets.sh'), ['smtp://mail.example.com'])
  await kubectl(['--namespace', name, 'create', '--filename=-'], secrets)
}

/**
 * Runs helm and returns its stderr, which has the warnings. If helm fails, throws an error with helm's
 * message and its stdout. The stdout may have the log of `helm test`, for example.
 */
export async function helmIn(
  helm: string,
  { kubeconfig }: Cluster,
  namespace: string,
  args: string[],
): Promise<string> {
  const running = run(helm, [...args, '--kubeconfig', kubeconfig, '--namespace', namespace])
  const { stderr } = await running.catch(({ message, stdout }) => {
    throw new Error(`${message}${stdout}`)
  })
  return stderr
}
