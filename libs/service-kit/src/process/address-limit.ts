import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net'

/** How long one address may take to accept a connection. The kernel resends a lost SYN after 1 s. */
export const ADDRESS_LIMIT_MS = 2000

/**
 * Sets that limit for this process. After Node's own, 250 ms, a connection fails when no other address accepts, such as an IPv6
 * one on a host without IPv6.
 */
export const limitAddresses = (): void => setDefaultAutoSelectFamilyAttemptTimeout(ADDRESS_LIMIT_MS)
