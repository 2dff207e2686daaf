import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net'

/** How long one address may take to accept a connection. The kernel sends a lost SYN again after 1 s. */
export const ADDRESS_LIMIT_MS = 2000

/**
 * Lets each address of a name take so long, in this process. Node's limit is 250 ms, and then a connection that takes longer fails
 * when no other address accepts, such as an IPv6 one on a host without IPv6.
 */
export const limitAddresses = (): void => setDefaultAutoSelectFamilyAttemptTimeout(ADDRESS_LIMIT_MS)
