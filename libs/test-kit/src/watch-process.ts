import type { Child } from '@leadwire/embedded'

declare global {
  var leadwireProcesses: Set<Child> | undefined
}

let watching = true

/** For systems that outlive spec files. It concerns this copy of the module: each file has its own (global-setup.cjs). */
export const stopWatching = (): void => {
  watching = false
}

/** Has the environment of the spec file see that this process is stopped when the file is done (environment.cjs). */
export function watchProcess<T extends Child>(child: T): T {
  if (!watching) return child
  globalThis.leadwireProcesses ??= new Set()
  globalThis.leadwireProcesses.add(child)
  return child
}
