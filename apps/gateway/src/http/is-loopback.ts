import { isIPv4 } from 'node:net'

/** Returns whether a host name or IP address is this machine. An IPv6 address may have brackets. */
export const isLoopback = (host: string): boolean =>
  ['::1', '[::1]', 'localhost'].includes(host) || (isIPv4(host) && host.startsWith('127.'))
