<?php

declare(strict_types=1);

namespace Leadwire\WebhookReceiver;

/**
 * Remembers in a folder for which events the work is done: a file each, which an attempt locks while it is in progress. All
 * PHP processes of one machine share it; a lock ends with its process.
 */
final class FolderStore
{
    /**
     * @param string $folder is made when it is not there
     * @param int $rememberSeconds a day is longer than all retries (1 h 51 min) and than an evening without the receiver
     */
    public function __construct(private readonly string $folder, private readonly int $rememberSeconds = 86_400)
    {
        if (!is_dir($folder) && !@mkdir($folder, 0700, true) && !is_dir($folder)) {
            throw new \RuntimeException("The folder $folder can't be made.");
        }
    }

    /**
     * Does the work for a webhook-id once. Throws what the work throws: the next attempt does it again.
     * @param callable(): mixed $work
     */
    public function once(string $id, callable $work): Outcome
    {
        // A hash: an id may have any characters.
        $file = fopen("$this->folder/" . hash('sha256', $id), 'c+');
        if ($file === false) {
            throw new \RuntimeException("The folder $this->folder can't be written to.");
        }
        try {
            if (!flock($file, LOCK_EX | LOCK_NB)) {
                return Outcome::InProgress;
            }
            ['size' => $size, 'mtime' => $mtime] = fstat($file);
            if ($size > 0 && $mtime > time() - $this->rememberSeconds) {
                return Outcome::Duplicate;
            }
            $work();
            ftruncate($file, 0);
            fwrite($file, $id);
        } finally {
            fclose($file);
        }
        if (random_int(1, 100) === 1) {
            $this->prune();
        }
        return Outcome::Kept;
    }

    /** Deletes what is older than is remembered; `once` does so, too, about every hundredth time. */
    public function prune(): void
    {
        foreach (glob("$this->folder/*") ?: [] as $path) {
            if (filemtime($path) <= time() - $this->rememberSeconds) {
                @unlink($path);
            }
        }
    }
}
