import type { Faults } from '@leadwire/service-kit'

/** The faults of both, field by field. */
export const addFaults = (first: Faults, second: Faults): Faults => {
  const faults = new Map(Object.entries(first))
  for (const [field, messages] of Object.entries(second)) {
    faults.set(field, [...(faults.get(field) ?? []), ...messages])
  }
  return Object.fromEntries(faults)
}
