import type { Lead } from '@leadwire/contracts'
import { LRUCache } from 'lru-cache'
import { UAParser } from 'ua-parser-js'

/** The visitor's device, parsed from a User-Agent. No field is ever empty. */
type VisitorDevice = Pick<
  Lead,
  'device_type' | 'device_name' | 'browser' | 'browser_version' | 'os' | 'os_version'
>

const UNKNOWN = 'unknown'

const parse = (userAgent: string): VisitorDevice => {
  const { browser, device, os } = new UAParser(userAgent).getResult()
  return {
    // The parser names a type only for what is no desktop computer.
    device_type: device.type ?? (os.name ? 'desktop' : UNKNOWN),
    device_name: [device.vendor, device.model].filter(Boolean).join(' ') || UNKNOWN,
    browser: browser.name ?? UNKNOWN,
    browser_version: browser.version ?? UNKNOWN,
    os: os.name ?? UNKNOWN,
    os_version: os.version ?? UNKNOWN,
  }
}

// A few user agents make most of the traffic, and parsing one takes some fifty regular expressions.
const cache = new LRUCache<string, VisitorDevice>({ max: 2000, memoMethod: parse })

/** Device, browser and operating system of a User-Agent string; `unknown` where it has none. */
export const visitorDevice = (userAgent: string): VisitorDevice => cache.memo(userAgent)
