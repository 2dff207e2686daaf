import type { Child } from '@leadwire/embedded'

declare global {
  var leadwireProcesses: Set<Child> | undefined
}

/** Has the environment of the spec file see that this process is stopped when the file is done (environment.cjs). */
export function watchProcess<T extends Child>(child: T): T {
  globalThis.leadwireProcesses ??= new Set()
  globalThis.leadwireProcesses.add(child)
  return child
}
