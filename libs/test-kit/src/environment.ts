/** Returns a variable that the global set-up of a run has set for its spec files. */
export function fromGlobalSetup(
  name: `LEADWIRE_TEST_${'POSTGRES' | 'POSTGRES_CA' | 'POSTGRES_TLS' | 'NATS_SERVER' | 'SYSTEM' | 'PROCESSES'}`,
): string {
  const value = process.env[name]
  if (!value)
    throw new Error(`${name} is not set: specs run under jest with the global set-up of this library`)
  return value
}
