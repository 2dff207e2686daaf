import { LRUCache } from 'lru-cache'
import { UAParser } from 'ua-parser-js'

/** What a User-Agent tells of the visitor. No field is ever empty. */
export interface VisitorDevice {
  deviceType: string
  deviceName: string
  browser: string
  browserVersion: string
  os: string
  osVersion: string
}

const UNKNOWN = 'unknown'

// A few user agents make most of the traffic, and parsing one takes some fifty regular expressions.
const cache = new LRUCache<string, VisitorDevice>({ max: 2000 })

const parse = (userAgent: string): VisitorDevice => {
  const { browser, device, os } = new UAParser(userAgent).getResult()
  return {
    // The parser names a type only for what is no desktop computer.
    deviceType: device.type ?? (os.name ? 'desktop' : UNKNOWN),
    deviceName: [device.vendor, device.model].filter(Boolean).join(' ') || UNKNOWN,
    browser: browser.name ?? UNKNOWN,
    browserVersion: browser.version ?? UNKNOWN,
    os: os.name ?? UNKNOWN,
    osVersion: os.version ?? UNKNOWN,
  }
}

/** Device, browser and operating system of a User-Agent string; `unknown` where it does not tell. */
export const visitorDevice = (userAgent: string): VisitorDevice => {
  const known = cache.get(userAgent)
  if (known) return known
  const device = parse(userAgent)
  cache.set(userAgent, device)
  return device
}
