package organisation

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/settings"
)

// inShard reports whether a shard has the repository with an id. The shard with the
// highest score has it (rendezvous hashing). So a renamed repository stays, and
// most repositories stay when the number of shards changes.
func inShard(s settings.Shard, id int64) bool {
	own := score(id, s.Number)
	for n := 1; n <= s.Of; n++ {
		if of := score(id, n); of > own || of == own && n < s.Number {
			return false
		}
	}
	return true
}

func score(id int64, shard int) uint64 {
	h := fnv.New64a()
	var key [16]byte
	binary.BigEndian.PutUint64(key[:8], uint64(id))
	binary.BigEndian.PutUint64(key[8:], uint64(shard))
	h.Write(key[:])
	return mixed(h.Sum64())
}

// mixed spreads the bits of a hash: FNV's last bytes change few of them. It is
// the finalizer of MurmurHash3, which is in the public domain.
func mixed(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// portion is a shard's part of a number of things. The first shards have the
// remainder. Without shards it is all of them.
func portion(s settings.Shard, all int) int {
	if s.Of == 0 {
		return all
	}
	part := all / s.Of
	if s.Number <= all%s.Of {
		part++
	}
	return part
}

// spare is the fraction, 1/spare, of GitHub's hour that shards leave to others
// with the same App or token.
const spare = 10

// ration is a run's part of GitHub's limits. hour is the number of requests that
// GitHub allows in an hour; 0 if that is not known.
func ration(asking context.Context, s settings.Shard, hour int) (r github.Ration) {
	if s.Of > 0 {
		part := func(all int) int { return max(1, portion(s, all)) } // 0 would be no limit
		r.Contents, r.Points = part(github.ContentsAnHour*(spare-1)/spare), part(github.PointsAMinute)
		if hour > 0 {
			r.Requests = part(hour * (spare - 1) / spare)
		}
	}
	if _, bounded := asking.Deadline(); bounded {
		r.Patience = time.Hour + time.Minute // a run with a set time limit waits for the next hour
	}
	return r
}
