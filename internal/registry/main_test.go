package registry

import (
	"os"
	"testing"

	"github.com/relock-dev/relock/internal/sandbox/trusted"
)

// TestMain makes SSL_CERT_FILE name the certificate of httptest: mirrors and OCI registries
// need https.
func TestMain(m *testing.M) { os.Exit(trusted.Main(m)) }
